#!/bin/bash
# Tries mcp-jail on a runner of any system, and fails where anything fails or is skipped:
#
#   testdata/systems/run.sh [STEP...]    # build test probes attacks servers log; all without one
#
# It leaves what the steps printed below bin/systems, from which the workflow uploads the table of
# the probes. On Linux there is no self-test and no log: the steps probes and log say so and fail.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CGO_ENABLED=0
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath"
kept=bin/systems
mkdir -p "$kept"
system=$(uname -s)
waive=() # what the platform cannot do is a gap with a name of its own
if [ "$system" = Darwin ]; then waive=(--waive macos); fi

build() { go build -o bin/ ./cmd/... && go build -o "$kept/" ./testdata/systems; }
tests() {
	# The judge fails for a test that was skipped, and so does a package that does not build.
	go test -json ./confine/... ./policy/... ./lifecycle/... ./cmd/... >"$kept/test.json" || true
	"$kept/systems" skipped <"$kept/test.json"
}
probes() {
	bin/mcp-jail doctor --format json >"$kept/doctor.json" || true # its status is about more than the probes
	"$kept/systems" probes <"$kept/doctor.json" | tee "$kept/probes.md"
}
attacks() { "$kept/systems" attacks bin/mcp-jail ${waive[@]+"${waive[@]}"} | tee "$kept/attacks.md"; }
servers() { bash testdata/systems/servers.sh bin/mcp-jail ${waive[@]+"${waive[@]}"} 2>&1 | tee "$kept/servers.txt"; }
log() { bash testdata/systems/log.sh | tee "$kept/log.ndjson"; }

[ $# -gt 0 ] || set -- build test probes attacks servers log
for step; do
	echo "== $step" >&2
	case $step in
	test) tests ;; # test is a command of the shell
	build | probes | attacks | servers | log) "$step" ;;
	*)
		echo "there is no step $step" >&2
		exit 2
		;;
	esac
done
