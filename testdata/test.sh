#!/bin/bash
# All of the set-up and all of the tests: formatting and vet, every package as
# whoever runs this, and, when that is root, once more as an ordinary user whose
# bounding set is empty. Real servers and clients come from npm into a cache outside
# of the checkout. MCPJAIL_REQUIRE lists what must not be skipped (see CONTRIBUTING.md).
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

say() { printf '\n== %s\n' "$*"; }

for program in go git node npm python3; do
	if ! command -v "$program" >/dev/null; then
		echo "make test needs $program: install it first (Debian: apt-get install golang git nodejs npm python3)" >&2
		exit 2
	fi
done

say "formatting and vet"
bash testdata/lint.sh

say "real servers and clients from npm"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/mcp-jail-tests
# packages DIR KIND prints where the packages of DIR's lock file are, and installs
# them when they are not there yet.
packages() {
	local dir=$1 into
	into=$cache/$2-$(sha256sum "$dir/package-lock.json" | cut -c1-16)
	if [ ! -e "$into/.complete" ]; then
		rm -rf "$into" && mkdir -p "$into" &&
			cp "$dir/package.json" "$dir/package-lock.json" "$dir/.npmrc" "$into" &&
			(cd "$into" && npm ci --loglevel=error) >&2 &&
			touch "$into/.complete" || return 1
	fi
	echo "$into"
}
servers=$(packages testdata/npm npm)
export MCPJAIL_SERVERS=$servers
MCPJAIL_CONFORMANCE=$(packages conformance/npm conformance)
export MCPJAIL_CONFORMANCE

work=$(mktemp -d /var/tmp/mcp-jail-test.XXXXXX)
user=
cleanup() {
	[ -z "$user" ] || userdel "$user" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

# A skipped test is a failure where MCPJAIL_REQUIRE is set, unless the same test
# passed in the run that the second argument is the log of, since some need root, or
# in one that another test has made, as those do that need a host without namespaces.
verdict() {
	local log=$1 other=${2:-/dev/null} name unearned=
	[ -n "${MCPJAIL_REQUIRE:-}" ] || return 0
	while read -r name; do
		grep -aqF -- "--- PASS: $name " "$log" "$other" || unearned="$unearned $name"
	done < <(grep -aoE -- '--- SKIP: [^ ]+' "$log" | cut -d' ' -f3)
	if [ -n "$unearned" ]; then
		echo "tests were skipped, and MCPJAIL_REQUIRE is set:$unearned" >&2
		exit 1
	fi
}

# What failed, and what the failing tests said: nothing of those that passed.
failures() {
	grep -aE '^ *--- FAIL|^FAIL|^panic:|^fatal error:|^signal: |^testing: |^exit status |^# |\[build failed\]' "$1" || true
	awk '/^=== RUN|^=== CONT|^=== NAME/ { name = $3; next } /--- FAIL/ { bad[$3] = 1 } { said[name] = said[name] $0 "\n" }
		END { for (n in bad) print "== " n "\n" substr(said[n], 1, 4000) }' "$1" | head -c 60000 || true
	tail -5 "$1"
}

# Root's run is followed by one as an ordinary user: what root's tests do as such a
# user themselves, is done once.
once='^$'
[ "$(id -u)" != 0 ] || once='^TestOrdinaryUser$'
say "all packages, as $(id -un)"
CGO_ENABLED=0 go test -v -timeout 15m -skip "$once" ./... >"$work/log" 2>&1 || {
	failures "$work/log"
	exit 1
}
grep -aE '^(ok|FAIL|\?)' "$work/log"
verdict "$work/log"

say "with and without the jail: transcripts, client libraries, the Inspector, the official suite"
(cd conformance && CGO_ENABLED=0 go test -v -timeout 15m -parallel 6 .) >"$work/log.conformance" 2>&1 || {
	failures "$work/log.conformance"
	exit 1
}
grep -aE '^ok' "$work/log.conformance"
verdict "$work/log.conformance"

if [ "$(id -u)" = 0 ]; then
	user=mcpjail$$
	say "the packages that build jails, as the ordinary user $user"
	useradd --create-home --home-dir "$work/home" --shell /bin/sh "$user"
	chmod 755 "$work"
	mkdir "$work/src"
	git ls-files -z --cached --others --exclude-standard | tar --null -T - -c | tar -x -C "$work/src"
	cp -r "$servers" "$work/servers"
	chown -R "$user" "$work/src" "$work/servers"
	for package in policy confine lifecycle cmd/mcp-jail; do
		CGO_ENABLED=0 go test -c -o "$work/src/$package/tests" "./$package"
		log=$work/log.${package//\//-}
		(cd "$work/src/$package" && exec setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups --bounding-set=-all \
			env -i PATH="$PATH" HOME="$work/home" USER="$user" LANG=C.UTF-8 MCPJAIL_REQUIRE="${MCPJAIL_REQUIRE:-}" MCPJAIL_SERVERS="$work/servers" \
			./tests -test.v -test.skip '^(TestAttackTable|TestOrdinaryUser)$' -test.timeout 15m) >"$log" 2>&1 || { failures "$log"; exit 1; }
		echo "ok  	$package	$(grep -ac '^ *--- PASS' "$log") passed"
		verdict "$log" "$work/log"
	done
fi
say "everything passed"
cd "$root"
