#!/bin/bash
# make test, make test-all and make test-long.
#
#   test.sh       each promise once: every package, without what late.txt lists
#   test.sh all   lint; what late.txt lists; as root, what differs for root: rooted.txt
#   test.sh long  all of these in their long form: every attack, client and
#                 server, and all rounds of random tests
#
# The tests run as an ordinary user. If root runs test.sh, it makes an account without rights for
# them, and removes it. A user who is not root runs them as himself, and leaves out what differs for root.
#
# It installs real servers and clients from npm into a cache outside of the checkout. Without a network it
# leaves out what needs them. MCPJAIL_REQUIRE lists what must not be skipped (see CONTRIBUTING.md).
#
# It prints a line for each package as it ends, after ten quiet seconds what runs, and at the end a sum. If it is
# ended by Ctrl-C or SIGTERM, it ends what it has started, and removes what it has made.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
export CGO_ENABLED=0
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath" # a checkout in another directory finds what was compiled

# Two files list packages, and below them names of tests: regular expressions for each part of a whole name. A package
# without names is there with all of its tests.
#
# late.txt: further forms of what other tests hold in their lowest form, and races that need many rounds.
# rooted.txt: what differs for root.

size=${1:-}
case $size in
"" | all) unset MCPJAIL_LONG ;;
long) export MCPJAIL_LONG=1 ;;
*)
	echo "usage: $0 [all | long]" >&2
	exit 2
	;;
esac

lacks=0
sh testdata/needs.sh go git node npm python3 pip ${size:+gcc} || lacks=$?
if [ $lacks != 0 ]; then
	[[ $lacks = 1 && -z "${MCPJAIL_REQUIRE:-}" ]] || exit 2
	echo "Without them, the tests that need them are left out." >&2
fi

work=$(mktemp -d /var/tmp/mcp-jail-test.XXXXXX)
temp=$(mktemp -d /tmp/mj.XXXX) vartmp=$(mktemp -d /var/tmp/mj.XXXX) # short, since the address of a socket has room for 107 bytes
chmod 755 "$work" "$temp" "$vartmp"
user=
[ "$(id -u)" != 0 ] || user=mcpjail$$

# started lists the processes that this one has started, with those that they have started, and those that
# have left them and still have the directories of this run in their environment.
started() {
	local self=$BASHPID
	ps -A -o pid=,ppid= | awk -v top=$$ -v self=$self '{ parent[$1] = $2 }
		END { for (p in parent) for (q = parent[p]; q > 1; q = parent[q]) if (q == top) { if (p != self && parent[p] != self) print p; break } }'
	{ grep -lF "$vartmp" /proc/[0-9]*/environ || true; } 2>/dev/null | cut -d/ -f3 | grep -vx "$$\|$self" || true
}

# cleanup ends all processes of this run, and removes its directories and the account.
cleanup() {
	local status=$? pids id i
	trap '' INT TERM HUP
	trap - EXIT
	set +e
	disown -a # bash would say of each that it was killed
	unset MCPJAIL_TEST_DIR TMPDIR # of what cleanup itself starts: see started
	for ((i = 0; i < 20; i++)); do
		pids=$(started)
		[ -n "$pids" ] || break
		[ $i -gt 0 ] || kill -STOP $pids 2>/dev/null || true # so that none starts another one meanwhile
		kill -KILL $(started) 2>/dev/null || true
		sleep 0.1
	done
	if [ -n "$user" ] && id=$(id -u "$user" 2>/dev/null); then
		remove_user || status=1
		find /tmp /var/tmp /dev/shm -maxdepth 1 -uid "$id" -exec rm -rf {} +
	fi
	rm -rf "$work" "$temp" "$vartmp"
	exit "$status"
}

# remove_user ends every process of the ordinary user and removes the account.
remove_user() {
	for ((i = 0; i < 5; i++)); do
		setpriv --reuid "$user" --clear-groups bash -c 'kill -KILL -1' 2>/dev/null || true
		userdel "$user" 2>"$work/userdel" && return 0 # without 0 it would be what was before the trap
		sleep 1
	done
	cat "$work/userdel" >&2
	echo "the account $user is still there: remove it with userdel" >&2
	return 1
}

trap cleanup EXIT
trap 'echo "interrupted: ends what was started, and removes its files" >&2; exit 130' INT
trap 'echo "interrupted: ends what was started, and removes its files" >&2; exit 143' TERM HUP

say() {
	printf '\n== %s\n' "$*"
	printed
}

# printed notes that something was printed.
printed() { echo "$SECONDS" >"$work/printed"; }

# pause SECONDS waits. It starts no process, as sleep would: nothing ever writes to this fifo.
mkfifo "$work/never"
pause() { read -rt "$1" <>"$work/never" || true; }

# tell_running says what runs whenever nothing was printed for ten seconds.
mkdir "$work/running" "$work/counts"
tell_running() {
	local last name since text
	while pause 1; do
		read -r last <"$work/printed" || continue # it is empty while another process writes it
		[ $((SECONDS - last)) -ge 10 ] || continue
		text=
		for name in "$work"/running/*; do
			{ read -r since <"$name"; } 2>/dev/null || continue
			name=${name##*/}
			text+="${text:+, }${name//%//} ($((SECONDS - since)) s)"
		done
		[ -z "$text" ] || echo "   … $text"
		printed
	done
}

# during NAME COMMAND... has tell_running name a command while it runs.
during() {
	local file=$work/running/${1//\//%} status=0
	echo "$SECONDS" >"$file"
	"${@:2}" || status=$?
	rm -f "$file"
	return "$status"
}

# all_of_it is the whole run. It is a process of its own, so that this one can end it at any time.
all_of_it() {

# The shim of a version manager takes ten times as long to start as the interpreter itself, and
# the tests start python3 some hundred times.
if [ "$(head -c 2 "$(command -v python3)" 2>/dev/null)" = '#!' ]; then
	PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
fi

if [ "$size" = all ]; then
	say "lint" && during lint bash testdata/lint.sh
fi

say "real servers and clients from npm"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/mcp-jail-tests
# packages VARIABLE DIR KIND [OPTION...] installs the packages of DIR's lock file, if they are not
# there yet, and puts the directory that they are in into the variable.
packages() {
	local variable=$1 dir=$2 into
	into=$cache/$3-$(sha256sum "$dir/package-lock.json" | cut -c1-16)
	shift 3
	command -v npm >/dev/null || return 0
	if [ ! -e "$into/.complete" ]; then
		rm -rf "$into" && mkdir -p "$into"
		cp "$dir/package.json" "$dir/package-lock.json" "$dir/.npmrc" "$into"
		if [ -n "$offline" ] || ! (cd "$into" && during "npm ci of $dir" npm ci --loglevel=error "$@") >&2; then
			rm -rf "$into"
			echo "npm $(npm --version) cannot install the packages of $dir, so the tests that need them are left out." >&2
			echo "Is there a network? npm 9 cannot read some of the lock files." >&2
			[ -z "${MCPJAIL_REQUIRE:-}" ] || exit 1
			[ ${#installed[@]} -gt 0 ] || offline=1 # else there is a network
			return
		fi
		touch "$into/.complete"
	fi
	export "$variable=$into"
	installed+=("$variable")
}
# lacking WHAT says that something cannot be fetched. That is an error where nothing may be skipped.
lacking() {
	offline=1
	echo "$1 cannot be fetched, so the tests that need them are left out. Is there a network?" >&2
	[ -z "${MCPJAIL_REQUIRE:-}" ] || exit 1
}
offline=
installed=()
packages MCPJAIL_SERVERS testdata/npm npm
packages MCPJAIL_CONFORMANCE conformance/npm conformance
if [ "$size" = long ]; then
	packages MCPJAIL_CLIENTS testdata/clients clients
	packages MCPJAIL_PRESETS testdata/presets presets --omit=optional
	packages MCPJAIL_PRESETS_NATIVE testdata/presets/native presets-native
	packages MCPJAIL_READERS testdata/readers readers
	packages MCPJAIL_NODE testdata/node node
else # 100 MB, and not 1.6 GB
	packages MCPJAIL_CLIENTS testdata/clients clients-short --omit=dev --omit=optional
fi

# A shell ignores SIGINT and SIGQUIT in what it starts in the background, and programs
# inherit that. The tests of signals need the defaults.
defaults=()
if env --default-signal true 2>/dev/null; then
	defaults=(env --default-signal)
fi

for dir in . conformance packaging/tools; do # the ordinary user adds none
	(cd "$dir" && during "go mod download" go mod download) || lacking "the Go modules of $dir"
done
# as runs a command in a directory as the ordinary user, or as the caller if that is not root.
sources=$root as=("${defaults[@]}")
if [ "$(id -u)" = 0 ]; then
	sources=$work/src
	useradd --groups users --create-home --home-dir "$work/home" --shell /bin/sh "$user" # undo has a case for a second group
	mkdir "$sources"
	git ls-files -z --cached --others --exclude-standard | tar --null -T - -c | tar -x -C "$sources"
	chown -R "$user" "$sources"
	# links FROM TO makes hard links of files that the user only reads, or copies on another file system.
	links() { during "a copy of $1" cp -dRl "$1" "$2" 2>/dev/null || { rm -rf "$2" && during "a copy of $1" cp -dR "$1" "$2"; }; }
	links "$(go env GOMODCACHE)" "$work/mod"
	# The user can add to what the go command has compiled, and changes none of it.
	mkdir -p "$work/home/.cache" "$(go env GOCACHE)" # none on a fresh account
	links "$(go env GOCACHE)" "$work/home/.cache/go-build"
	rm -f "$work/home/.cache/go-build/trim.txt"
	find "$work/home/.cache" "$work/mod/cache" -type d -exec chown "$user" {} +
	as=(setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups --bounding-set=-all "${defaults[@]}"
		env -i PATH="$PATH" HOME="$work/home" USER="$user" LANG=C.UTF-8 CGO_ENABLED=0 GOFLAGS="$GOFLAGS" GOMODCACHE="$work/mod"
		MCPJAIL_LONG="${MCPJAIL_LONG:-}" MCPJAIL_REQUIRE="${MCPJAIL_REQUIRE:-}")
	for variable in "${installed[@]}"; do
		as+=("$variable=$work/$variable")
		[ "$variable" = MCPJAIL_SERVERS ] || links "${!variable}" "$work/$variable"
	done
	if [ -n "${MCPJAIL_SERVERS:-}" ]; then # npx starts what is installed in a directory of its user's
		cp -dR "$MCPJAIL_SERVERS" "$work/MCPJAIL_SERVERS"
		chown -R "$user" "$work/MCPJAIL_SERVERS"
	fi
fi

# failures prints what the failing tests of a log wrote.
failures() {
	grep -aE '^ *--- FAIL|^FAIL|^panic:|^fatal error:|^signal: |^testing: |^exit status |^# |\[build failed\]' "$1" || true
	awk '/^=== RUN|^=== CONT|^=== NAME/ { name = $3; next } /--- FAIL/ { bad[$3] = 1 } { all = said[name] $0 "\n"; said[name] = length(all) > 20000 ? substr(all, length(all) - 6000) : all }
		END { for (n in bad) print "== " n "\n" substr(said[n], length(said[n]) > 6000 ? length(said[n]) - 6000 : 1) }' "$1" | head -c 60000 || true
	tail -5 "$1"
}

# verdict PACKAGE HOW LOG OPTION fails if a log has no test, or if MCPJAIL_REQUIRE is set and the log lacks a test that
# -test.run names, or has one that was skipped without a good reason. Good reasons: it passed in a process that another
# test started, for example on a host without namespaces; make test-long alone runs it; root runs it, and the package is
# in rooted.txt; or it needs a second version of Python, which distributions do not have.
verdict() {
	local name skipped unearned= wanted= good="MCPJAIL_LONG=|one version of Python with pip"
	[ -n "$size" ] || good+="|see TestWithoutNamespaces" # make test has some of them there, and test-all the others
	if [ "$2" = user ] && names_in rooted "$1" >/dev/null; then good+="|[Rr]oot[ :]|TestEgress runs this"; fi
	[[ $4 != -test.run=* ]] || wanted=$(names_in "$([ "$2" = root ] && echo rooted || echo late)" "$1")
	shift 2
	if grep -aq '^testing: warning: no tests to run' "$1"; then
		echo "no test has the name that was asked for" >&2
		return 1
	fi
	[ -n "${MCPJAIL_REQUIRE:-}" ] || return 0
	while read -r name; do
		[ -z "$name" ] || grep -aqE "^=== RUN +$name\$" "$1" || unearned="$unearned $name"
	done <<<"$wanted"
	if [ -n "$unearned" ]; then
		echo "late.txt and rooted.txt name tests that there are not:$unearned" >&2
		return 1
	fi
	skipped=$(awk -v good="$good" '
		/^=== RUN|^=== CONT|^=== NAME/ { name = $3; next } $0 ~ good { excused[name] = 1 }
		match($0, /--- SKIP: [^ ]+/) { skipped = substr($0, RSTART+10, RLENGTH-10); if (!(skipped in excused)) print skipped }' "$1") || return 1
	for name in $skipped; do
		grep -aqF -- "--- PASS: $name " "$1" || unearned="$unearned $name"
	done
	if [ -n "$unearned" ]; then
		echo "tests were skipped, and MCPJAIL_REQUIRE is set:$unearned" >&2
		return 1
	fi
}

# compile PACKAGE... compiles the tests of packages into $work/tests/PACKAGE/test. One go command for all takes
# half of the processor time that one for each takes: go test runs keep in the place of the tests, which moves
# them there.
compile() {
	local own=() tagged=() package
	cat >"$work/keep" <<-END
		#!/bin/sh
		set -e
		dir=\${PWD#"$root"}
		to=$work/\$1\${dir:-/.}
		mkdir -p "\$to"
		mv "\$2" "\$to/part"
		mv "\$to/part" "\$to/test"
	END
	chmod 755 "$work/keep"
	for package; do # conformance is a module of its own
		[ "$package" = conformance ] || own+=("./$package")
	done
	# Without DWARF the linker takes half of the time. The linker and the compiler end before a
	# collection of their garbage is worth its time.
	local build=(env GOGC=off GOMEMLIMIT=512MiB go test -vet=off -count=1 '-ldflags=-s -w')
	[ ${#own[@]} -eq 0 ] || "${build[@]}" -exec "$work/keep tests" "${own[@]}" || true
	[[ " $* " != *" conformance "* ]] || (cd conformance && "${build[@]}" -exec "$work/keep tests" .) || true
}

# compiled TEST waits until a test is compiled.
compiled() {
	until [ -e "$work/$1" ]; do
		if [ -e "$work/compiled" ]; then
			cat "$work/compile.log"
			return 1
		fi
		pause 0.3
	done
}

# parallel PACKAGE prints how many of its tests run at a time: more where tests wait for
# processes, clocks and each other.
parallel() {
	case $1 in
	lifecycle/internal/* | confine/egress/*) echo 4 ;;
	cmd/mcp-jail) echo 3 ;;
	conformance | confine/attacks | packages/install) echo 2 ;;
	*) echo 1 ;;
	esac
}

# run HOW PACKAGE [OPTION] runs the tests of a package: as the user, or as root. The option says which.
run() {
	local how=$1 package=$2 dir=$root/$2 command=("${defaults[@]}") options=(-test.v -test.timeout 75m -test.parallel "$(parallel "$2")" ${3:+"$3"})
	local log=$work/log/$package/$how begin=$SECONDS name=$how%${2//\//%} said
	mkdir -p "${log%/*}"
	[ "$how" = root ] || dir=$sources/$package command=("${as[@]}")
	if compiled "tests/$package/test" >"$log" 2>&1 && during "$package, $how" in_dir "$dir" "${command[@]}" "$work/tests/$package/test" "${options[@]}" >"$log" 2>&1 </dev/null && verdict "$package" "$how" "$log" "${3:-}"; then
		said="ok  	$package, $how	$((SECONDS - begin)) s" bad=0
	else
		said="FAIL	$package, $how	$((SECONDS - begin)) s"$'\n'$(failures "$log") bad=1
	fi
	awk -v bad=$bad '/^--- PASS/ { p++ } /^--- FAIL/ { f++ } /^--- SKIP/ { s++ } END { print bad, p+0, f+0, s+0 }' "$log" >"$work/counts/$name"
	printf '%s, %s\n' "${said%%$'\n'*}" "$(awk '{ print $2 " tests passed" ($3 ? ", " $3 " failed" : "") ($4 ? ", " $4 " skipped" : "") }' "$work/counts/$name")"
	[ "$bad" = 0 ] || printf '%s\n' "${said#*$'\n'}"
	printed
	return "$bad"
}

in_dir() { (cd "$1" && exec "${@:2}"); }

# The packages with tests, those that take longest first.
listed=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./...) # a process substitution would lose its status
first="cmd/mcp-jail confine/integration conformance packages/install confine/attacks internal/testkit/registry lifecycle/internal/stateless lifecycle/internal/stateful undo diagnostics"
all=$(sed "s|^$root/||; s|^$root\$|.|" <<<"$listed"; echo conformance)
all=$(for package in $first; do grep -x "$package" <<<"$all"; done; grep -vxF "${first// /$'\n'}" <<<"$all")

# names_in LIST PACKAGE prints the names of tests below a package in a list. It fails if the list lacks the package.
names_in() {
	awk -v package="$2" '/^\t/ { if (on) print $1; next } { on = $1 == package; found = found || on } END { exit !found }' "testdata/$1.txt"
}

# expression NAMES prints names of tests as -test.run takes them.
expression() { sed 's|/|$/^|g; s|.*|^&$|' <<<"$1" | paste -sd'|'; }

jobs=() needed=()
for package in $all; do
	if names=$(names_in late "$package"); then names=${names:-all}; else names=none; fi
	case $size,$names in
	,none | all,all | long,*) option= ;;
	,all | all,none) continue ;;
	,*) option=-test.skip=$(expression "$names") ;;
	all,*) option=-test.run=$(expression "$names") ;;
	esac
	[ -z "$offline" ] || [ "$package" != conformance ] || continue
	# Root's run of the attacks has both users.
	[ "$package,$(id -u)" != confine/attacks,0 ] || continue
	jobs+=("user $package $option") needed+=("$package")
done
if [ -n "$size" ] && [ "$(id -u)" != 0 ]; then
	say "not root: left out are tests of what differs for root"
elif [ -n "$size" ]; then
	for package in $(grep -v $'^\t' testdata/rooted.txt); do
		names=$(names_in rooted "$package")
		[ -z "$names" ] || package+=" -test.run=$(expression "$names")"
		jobs+=("root $package") needed+=("${package%% *}")
	done
fi

if [ -n "$offline" ]; then
	say "without a network: left out are conformance, and in other packages the tests that need real servers and clients from npm"
fi
say "${#jobs[@]} packages, as $(id -un)${user:+ and as the ordinary user $user}"
(
	begin=$SECONDS
	during "the compiler" compile $(printf '%s\n' "${needed[@]}" | awk '!seen[$0]++') >"$work/compile.log" 2>&1
	touch "$work/compiled"
	echo "compiled in $((SECONDS - begin)) s"
	printed
) &
# Two more jobs than there are processors: many tests wait, and a client that gives up after 10 s still gets a
# processor in time. The compilation is one of them.
bad=0 running=1
for job in "${jobs[@]}"; do
	while [ "$running" -ge $(($(nproc) + 2)) ]; do
		wait -n || bad=1
		running=$((running - 1))
	done
	run $job &
	running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
	wait -n || bad=1
	running=$((running - 1))
done
cat "$work"/counts/* | awk -v minutes=$((SECONDS / 60)) -v seconds=$((SECONDS % 60)) -v left="${offline:+, without a network}" '
	{ n++; bad += $1; p += $2; f += $3; s += $4 }
	END { printf "\n== %d packages, %d of them failed: %d tests passed, %d failed, %d skipped, in %d min %d s%s\n", n, bad, p, f, s, minutes, seconds, left }'
[ "$bad" = 0 ]
}

export TMPDIR=$temp MCPJAIL_TEST_DIR=$vartmp
say "the programs that the tests need are here"
tell_running &
all_of_it &
wait $!
