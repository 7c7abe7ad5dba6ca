#!/bin/bash
# Formatting, and vet on every system that the program must compile on.
set -euo pipefail
cd "$(dirname "$0")/.."
unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
	echo "gofmt -w these files:" "$unformatted" >&2
	exit 1
fi
go mod verify
for os in linux darwin windows freebsd; do
	echo "vet $os"
	GOOS=$os CGO_ENABLED=0 go vet ./...
done
echo "vet the virtual machines"
GOOS=linux CGO_ENABLED=0 go vet ./testdata/vm/...
echo "vet conformance"
(cd conformance && go mod verify && CGO_ENABLED=0 go vet ./...)
echo "vet linux/arm64"
GOARCH=arm64 CGO_ENABLED=0 go vet ./...
