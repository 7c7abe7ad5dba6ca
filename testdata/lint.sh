#!/bin/bash
# make lint: formatting, the documents, go vet on every system that the program must compile on,
# staticcheck, and code that nothing reaches. It prints the size of each folder.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath" # a checkout in another directory finds what was compiled
export GOGC=300 # compilers and checkers end soon: fewer collections of garbage save a tenth of their time

built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT

# tool NAME prints the path of a tool, which it builds for this host.
tool() { go tool -modfile=testdata/lint/go.mod -n "$1"; }

unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
	echo "gofmt -w these files:" "$unformatted" >&2
	exit 1
fi
go mod verify
# go vet compiles all libraries for each system. Linux alone has files for one architecture, so only Linux is checked on
# two. For macOS on amd64, deadcode checks the types.
for system in linux/amd64 linux/arm64 darwin/arm64 windows/amd64 freebsd/amd64; do
	echo "vet $system"
	GOOS=${system%/*} GOARCH=${system#*/} go vet ./...
done
# All programs and tests for macOS are compiled, but few tests are linked: the linker finds what is
# in no Go file, or in another package by go:linkname. One program has nearly all packages, and each
# package with such code has its own. go test -c cannot make two programs of one name. True is what
# starts them, and it does nothing: no program for macOS runs on another system.
echo "build the tests of darwin/arm64"
mapfile -t linked < <({ echo ./cmd/mcp-jail; echo ./confine/integration; { git ls-files --cached --others --exclude-standard '*.s'; git grep -lE --untracked '^//go:linkname' -- '*.go'; } | sed 's|^|./|; s|/[^/]*$||'; } | sort -u)
GOOS=darwin GOARCH=arm64 go list -test -export ./... >/dev/null
GOOS=darwin GOARCH=arm64 go build -ldflags='-s -w' -o "$built/" ./cmd/...
GOOS=darwin GOARCH=arm64 go list -e -f '{{if or .GoFiles .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "${linked[@]}" |
	GOOS=darwin GOARCH=arm64 xargs go test -vet=off -ldflags='-s -w' -exec true >"$built/log" || { cat "$built/log" >&2; exit 1; }
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
# still FINDINGS FILES keeps the findings that another build has too, which found FINDINGS, and
# those in files that it does not build.
still() {
	awk -F: 'FNR == 1 { part++ } part == 1 { found[$0]; next } part == 2 { built[$0]; next }
		($0 in found) || !($1 in built)' <(echo "$1") <(echo "$2") -
}
# drop EXPRESSION drops the lines that match.
drop() { grep -vE "$1" || true; }

echo "documents"
go test -count=1 -run '^Test(Document|SourceNamesDocuments|ReadmeFigures)' . ./cmd/internal/commands

echo "workflows"
"$(tool actionlint)" -shellcheck= -pyflakes= .github/workflows/*.yml
go test ./testdata/systems
for os in darwin windows; do GOOS=$os go vet ./testdata/systems; done

echo "staticcheck"
staticcheck=$(tool staticcheck)
# check OS PACKAGE... runs staticcheck, whose status is 1 if it has findings. It keeps them with their absolute
# paths under the hash of what was compiled, so each checkout has a cache of its own.
check() { GOOS=$1 STATICCHECK_CACHE=$(git rev-parse --absolute-git-dir)/staticcheck "$staticcheck" "${@:2}" || [ $? = 1 ]; }
found=$(check linux ./... ./testdata/vm/...)
report "staticcheck on Linux" "$found"
# Most Macs have arm64. Amd64 is checked as well as soon as a file is for one of the two alone.
# Packages whose files Linux all builds are left out: their findings would be dropped.
mac=$(GOOS=darwin GOARCH=arm64 files)
mapfile -t alone < <(comm -13 <(echo "$linux") <(echo "$mac") | sed 's|^|./|; s|/[^/]*$||' | sort -u)
found=$(GOARCH=arm64 check darwin "${alone[@]}")
if [ "$(GOOS=darwin GOARCH=amd64 files)" != "$mac" ]; then
	found+=$'\n'$(GOARCH=amd64 check darwin ./...)
fi
# A stub type may stand for a field that only Linux uses.
report "staticcheck on macOS" "$(elsewhere <<<"$found" | drop '_other.go:.* type .* is unused')"
found=$(cd conformance && check linux ./...)
report "staticcheck in conformance" "$found"

echo "deadcode"
deadcode=$(tool deadcode)
found=$(GOOS=linux "$deadcode" -test ./... ./testdata/vm/...)
mac=$(GOOS=darwin GOARCH=amd64 "$deadcode" -test ./...)
report "unreachable on macOS" "$(elsewhere <<<"$mac")"
found=$(still "$mac" "$(GOOS=darwin files)" <<<"$found")
windows=$(GOOS=windows "$deadcode" -test ./...)
found=$(still "$windows" "$(GOOS=windows files)" <<<"$found")
report "unreachable on Linux" "$(drop "func: Example" <<<"$found")" # without output it is compiled only
# String methods may be for tests and logs. egresstest is for tests, and bench uses a part.
# Some code is for the programs of macOS or Windows alone, and has a part that stands for macOS in tests on
# Linux.
found=$(GOOS=linux "$deadcode" ./cmd/... ./examples/... ./bench/... ./testdata/vm/...)
mac=$(GOOS=darwin "$deadcode" ./cmd/... ./examples/... ./bench/...)
found=$(still "$mac" "$(GOOS=darwin files)" <<<"$found")
windows=$(GOOS=windows "$deadcode" ./cmd/... ./examples/... ./bench/...)
found=$(still "$windows" "$(GOOS=windows files)" <<<"$found")
report "reached by tests alone" "$(drop '^confine/egress/egresstest/|^confine/internal/(sandboxexec|selftest)/[a-z]+_linux\.go:|\.String$' <<<"$found")"

# lines FILE... prints how many lines of each file are neither blank nor a comment, and none of a binary file.
lines() { xargs -d '\n' grep -IHcvE '^[[:space:]]*(//.*)?$' -- || true; }
product=$(for os in linux darwin windows freebsd; do
	GOOS=$os go list -deps -f '{{if and .Module .Module.Main}}{{range $f := .GoFiles}}{{$.Dir}}/{{$f}}
{{end}}{{range $f := .SFiles}}{{$.Dir}}/{{$f}}
{{end}}{{range $f := .EmbedFiles}}{{$.Dir}}/{{$f}}
{{end}}{{end}}' ./cmd/...
done | sed -n "s|^$PWD/||p" | sort -u)
others=$(git ls-files --cached --others --exclude-standard -- '*.go' '*testdata/*' ':!*lock.json' ':!*go.sum' | sort -u | comm -23 - <(echo "$product") | while read -r file; do [ ! -f "$file" ] || echo "$file"; done)
echo "lines, without blank ones and comments, and without lists of locked packages"
awk -F: '{ n = split($1, dir, "/"); top = n > 1 ? dir[1] : "."; all[top]; sum[FILENAME == ARGV[1], top] += $NF; total[FILENAME == ARGV[1]] += $NF }
	END {
		row = "%-14s %9s %9s\n"; printf row, "", "product", "other Go"; printf row, "", "and data", "and tests"
		for (top in all) printf row, top, sum[1, top] + 0, sum[0, top] + 0 | "sort"
		close("sort"); printf row, "all", total[1], total[0]
	}' <(lines <<<"$product") <(lines <<<"$others")
[ -z "$failed" ]
