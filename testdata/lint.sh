#!/bin/bash
# make lint: formatting, go vet on every system that the program must compile on,
# staticcheck, and code that nothing reaches.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

tool() { go tool -modfile=testdata/lint/go.mod "$@"; }

unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
	echo "gofmt -w these files:" "$unformatted" >&2
	exit 1
fi
go mod verify
for os in linux darwin windows freebsd; do
	echo "vet $os"
	GOOS=$os go vet ./...
done
echo "vet linux/arm64"
GOARCH=arm64 go vet ./...
echo "vet the virtual machines"
GOOS=linux go vet ./testdata/vm/...
echo "vet conformance"
(cd conformance && go mod verify && go vet ./...)

# Code for one system often stands in a file that every system builds: compilers of
# rules, for example, which tests everywhere try. So Linux is checked whole, and macOS
# only in the files that Linux does not build.
files() {
	go list -f '{{range $f := .GoFiles}}{{$.Dir}}/{{$f}}
{{end}}{{range $f := .TestGoFiles}}{{$.Dir}}/{{$f}}
{{end}}{{range $f := .XTestGoFiles}}{{$.Dir}}/{{$f}}
{{end}}' ./... ./testdata/vm/... | sed "s|^$PWD/||" | sort -u
}
linux=$(GOOS=linux files)

failed=
# report WHAT FINDINGS fails if there are findings.
report() {
	if [ -n "$2" ]; then
		printf '%s:\n%s\n' "$1" "$2" >&2
		failed=1
	fi
}
# elsewhere drops the findings in files that Linux builds.
elsewhere() { awk -F: 'NR == FNR { linux[$0]; next } !($1 in linux)' <(echo "$linux") -; }

echo "staticcheck"
report "staticcheck on Linux" "$(GOOS=linux tool staticcheck ./... ./testdata/vm/... || true)"
report "staticcheck on macOS" "$(GOOS=darwin tool staticcheck ./... | elsewhere || true)"
tools=$PWD/testdata/lint/go.mod
report "staticcheck in conformance" "$(cd conformance && go tool -modfile="$tools" staticcheck ./... || true)"

echo "deadcode"
# Examples without an output are compiled and not run.
found=$(GOOS=linux tool deadcode -test ./... ./testdata/vm/...)
report "unreachable on Linux" "$(grep -v 'unreachable func: Example' <<<"$found" || true)"
found=$(GOOS=darwin tool deadcode -test ./...)
report "unreachable on macOS" "$(elsewhere <<<"$found")"
found=$(GOOS=linux tool deadcode ./cmd/... ./examples/... ./bench/... ./testdata/vm/...)
report "reached by tests alone" "$found"
[ -z "$failed" ]
