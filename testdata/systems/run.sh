#!/bin/bash
# Tries mcp-jail on a runner of any system, and fails where anything fails or is skipped:
#
#   testdata/systems/run.sh [STEP...]    # build test probes attacks servers wsl
#
# It leaves what the steps printed below bin/systems, from which the workflow uploads the table of
# the probes. On Linux and Windows there is no self-test: that step says so and fails. The
# step wsl is for Windows alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CGO_ENABLED=0
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath"
kept=bin/systems
mkdir -p "$kept"
system=$(uname -s)
windows=
waive=() # what the platform cannot do is a gap with a name of its own
case $system in
Darwin) waive=(--waive macos) ;;
MINGW* | MSYS*) windows=1 waive=(--waive windows) ;;
esac

build() { go build -o bin/ ./cmd/... && go build -o "$kept/" ./testdata/systems; }
tests() {
	# The judge fails for a test that was skipped, and so does a package that does not build.
	local packages=(./confine/... ./policy/... ./lifecycle/... ./cmd/...) some=()
	if [ -n "$windows" ]; then
		go vet ./... # the tests of all packages build there
		mapfile -t packages < <(sed 's/#.*//; s/ *$//; /^$/d; / /d' testdata/systems/windows.txt)
		mapfile -t some < <(sed 's/#.*//; s/ *$//; / /!d' testdata/systems/windows.txt)
	fi
	go test -json "${packages[@]}" >"$kept/test.json" || true
	for line in ${some[@]+"${some[@]}"}; do
		go test -json -run "${line#* }" "${line%% *}" >>"$kept/test.json" || true
	done
	"$kept/systems" skipped <"$kept/test.json"
}
probes() {
	bin/mcp-jail doctor --format json >"$kept/doctor.json" || true # its status is about more than the probes
	"$kept/systems" probes <"$kept/doctor.json" | tee "$kept/probes.md"
}
attacks() { "$kept/systems" attacks bin/mcp-jail ${waive[@]+"${waive[@]}"} | tee "$kept/attacks.md"; }
servers() { bash testdata/systems/servers.sh bin/mcp-jail ${waive[1]+"${waive[1]}"} 2>&1 | tee "$kept/servers.txt"; }
wsl() { bash testdata/systems/wsl.sh 2>&1 | tee "$kept/wsl.txt"; }

[ $# -gt 0 ] || set -- build test probes attacks servers # of macOS
for step; do
	echo "== $step" >&2
	case $step in
	test) tests ;; # test is a command of the shell
	build | probes | attacks | servers | wsl) "$step" ;;
	*)
		echo "there is no step $step" >&2
		exit 2
		;;
	esac
done
