#!/bin/bash
# make test, make test-all and make test-long.
#
#   test.sh       every package, as the user who runs it, in the short form of its tests
#   test.sh all   lint; every package with more tests and rounds. If root runs it, the packages
#                 that build jails run as an ordinary user whose bounding set is empty. Root has
#                 their short form in test.sh, and nothing is repeated here
#   test.sh long  the packages in which more is long, or repeats a test with another program:
#                 every attack, every client, every pair of a client and a server
#
# It installs real servers and clients from npm into a cache outside of the checkout.
# MCPJAIL_REQUIRE lists what must not be skipped (see CONTRIBUTING.md). MCPJAIL_PASSED names a file in
# which test.sh notes the tree that it has passed, and each job. Beside it, in a directory of that name
# with .compiled at its end, it leaves the compiled tests. After that, test.sh all does not repeat what
# would be done again just as it was, and says so. It takes the compiled tests, and compiles none twice.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
export CGO_ENABLED=0
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath" # a checkout in another directory finds what was compiled

case ${1:-} in
"") unset MCPJAIL_ALL ;;
all) export MCPJAIL_ALL=1 ;;
long) export MCPJAIL_ALL=long ;;
*)
	echo "usage: $0 [all | long]" >&2
	exit 2
	;;
esac

say() { printf '\n== %s\n' "$*"; }

for program in go git node npm python3; do
	if ! command -v "$program" >/dev/null; then
		echo "the tests need $program: install it first (Debian: apt-get install golang git nodejs npm python3)" >&2
		exit 2
	fi
done

# The shim of a version manager takes ten times as long to start as the interpreter itself, and
# the tests start python3 some hundred times.
if [ "$(head -c 2 "$(command -v python3)")" = '#!' ]; then
	PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
fi

if [ "${MCPJAIL_ALL:-}" = 1 ]; then
	say "lint"
	bash testdata/lint.sh
fi

say "real servers and clients from npm"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/mcp-jail-tests
# packages DIR KIND [OPTION...] installs the packages of DIR's lock file, if they are not there
# yet, and prints the directory that they are in.
packages() {
	local dir=$1 into
	into=$cache/$2-$(sha256sum "$dir/package-lock.json" | cut -c1-16)
	shift 2
	if [ ! -e "$into/.complete" ]; then
		rm -rf "$into" && mkdir -p "$into" &&
			cp "$dir/package.json" "$dir/package-lock.json" "$dir/.npmrc" "$into" &&
			(cd "$into" && npm ci --loglevel=error "$@") >&2 &&
			touch "$into/.complete" || return 1
	fi
	echo "$into"
}
servers=$(packages testdata/npm npm)
export MCPJAIL_SERVERS=$servers
MCPJAIL_CONFORMANCE=$(packages conformance/npm conformance)
export MCPJAIL_CONFORMANCE
if [ -n "${MCPJAIL_ALL:-}" ]; then
	MCPJAIL_CLIENTS=$(packages testdata/clients clients)
else # 100 MB, and not 1.6 GB
	MCPJAIL_CLIENTS=$(packages testdata/clients clients-short --omit=dev --omit=optional)
fi
export MCPJAIL_CLIENTS
if [ -n "${MCPJAIL_ALL:-}" ]; then
	MCPJAIL_PRESETS=$(packages testdata/presets presets --omit=optional)
	MCPJAIL_READERS=$(packages testdata/readers readers)
	MCPJAIL_NODE=$(packages testdata/node node)
	MCPJAIL_WINE=$(packages testdata/wine wine --force) # it is for Windows
	MCPJAIL_WINE_PYTHON=$(cd testdata/wine/python && go mod download -json | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	export MCPJAIL_PRESETS MCPJAIL_READERS MCPJAIL_NODE MCPJAIL_WINE MCPJAIL_WINE_PYTHON
fi
MCPJAIL_PRESETS_NATIVE=
if [ "${MCPJAIL_ALL:-}" = long ]; then
	MCPJAIL_PRESETS_NATIVE=$(packages testdata/presets/native presets-native)
fi
export MCPJAIL_PRESETS_NATIVE

work=$(mktemp -d /var/tmp/mcp-jail-test.XXXXXX)
chmod 755 "$work"
user=

# A cpuacct group of its own, where root can have one, counts the processor time of all that the
# tests start. The shell's times count only processes that were waited for, and those of a jail
# whose parent has ended first were not.
above=/sys/fs/cgroup/cpuacct$(sed -n 's/^[0-9]*:\([^:]*,\)\?cpuacct\(,[^:]*\)\?:\(.*\)/\3/p' /proc/self/cgroup)
group=$above/mcp-jail-test.$$
{ mkdir "$group" && echo $$ >"$group/cgroup.procs"; } 2>/dev/null || group=

# burnt WORDS prints words and the processor time of all that this script has started. No subshell
# can call it: times would be those of the subshell.
burnt() {
	if [ -n "$group" ]; then
		say "$1, with $(($(<"$group/cpuacct.usage") / 1000000000)) s of a processor"
	else
		times >"$work/times"
		say "$1, with $(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); cpu += 60*t[1] + t[2] } }
			END { print int(cpu) }' "$work/times") s of a processor, without processes that none waited for"
	fi
}

# remove_user ends every process of the ordinary user and removes the account.
remove_user() {
	local name=$user
	user=
	for _ in 1 2 3 4 5; do
		setpriv --reuid "$name" --clear-groups bash -c 'kill -KILL -1' 2>/dev/null || true
		userdel "$name" 2>"$work/userdel" && return
		sleep 1
	done
	cat "$work/userdel" >&2
	echo "the account $name is still there: remove it with userdel" >&2
	return 1
}

cleanup() {
	local status=$?
	trap - EXIT
	[ -z "$user" ] || remove_user || status=1
	if [ -n "$group" ]; then
		{ echo $$ >"$above/cgroup.procs" && rmdir "$group"; } 2>/dev/null || echo "the group $group is still there" >&2
	fi
	rm -rf "$work"
	exit "$status"
}
trap cleanup EXIT

# A shell ignores SIGINT and SIGQUIT in what it starts in the background, and programs
# inherit that. The tests of signals need the defaults.
defaults=()
if env --default-signal true 2>/dev/null; then
	defaults=(env --default-signal)
fi

# failures prints what the failing tests of a log wrote.
failures() {
	grep -aE '^ *--- FAIL|^FAIL|^panic:|^fatal error:|^signal: |^testing: |^exit status |^# |\[build failed\]' "$1" || true
	awk '/^=== RUN|^=== CONT|^=== NAME/ { name = $3; next } /--- FAIL/ { bad[$3] = 1 } { all = said[name] $0 "\n"; said[name] = length(all) > 20000 ? substr(all, length(all) - 6000) : all }
		END { for (n in bad) print "== " n "\n" substr(said[n], length(said[n]) > 6000 ? length(said[n]) - 6000 : 1) }' "$1" | head -c 60000 || true
	tail -5 "$1"
}

# verdict REASON LOG... fails if the first log has no test, or if MCPJAIL_REQUIRE is set and the log
# has a test that was skipped without a good reason. Four reasons are good: it passed in a process that another
# test started, for example on a host without namespaces, or in another of the logs; only
# make test-all or make test-long runs it; it needs a second version of Python, which distributions do not
# have; or it gave REASON, a regular expression, for it.
verdict() {
	local name skipped unearned= reason=$1
	shift
	if grep -aq '^testing: warning: no tests to run' "$1"; then
		echo "no test has the name that was asked for" >&2
		return 1
	fi
	[ -n "${MCPJAIL_REQUIRE:-}" ] || return 0
	skipped=$(awk -v good="MCPJAIL_ALL=|one version of Python with pip${reason:+|$reason}" '
		/^=== RUN|^=== CONT|^=== NAME/ { name = $3; next } $0 ~ good { excused[name] = 1 }
		match($0, /--- SKIP: [^ ]+/) { skipped = substr($0, RSTART+10, RLENGTH-10); if (!(skipped in excused)) print skipped }' "$1") || return 1
	for name in $skipped; do
		grep -aqF -- "--- PASS: $name " "$@" || unearned="$unearned $name"
	done
	if [ -n "$unearned" ]; then
		echo "tests were skipped, and MCPJAIL_REQUIRE is set:$unearned" >&2
		return 1
	fi
}

# tree prints a name of the tree and of what the tests meet: the Go toolchain, the kernel since its
# start, the user, the programs of PATH, and the environment without what test.sh all sets itself.
# It prints nothing where git does not list the files, as in a checkout of another user.
tree() {
	local path
	[ -n "$(git ls-files -- testdata/test.sh)" ] || return 0
	IFS=: read -ra path <<<"$PATH"
	git ls-files -z --cached --others | sort -z >"$work/files" || return
	{
		xargs -0 stat -c '%f %N' <"$work/files" 2>&1 # a file that has gone is named too
		xargs -0 sha256sum <"$work/files" 2>&1
		find -L "${path[@]}" -maxdepth 1 -type f -printf '%p %s %T@\n' 2>&1 | sort
		env | grep -vE '^(MCPJAIL_(ALL|PASSED|CLIENTS|PRESETS|READERS|NODE|WINE|WINE_PYTHON)|_)=' | sort
		go version && uname -srv && id && cat /proc/sys/kernel/random/boot_id
	} | sha256sum
}
now= noted=
if [ -n "${MCPJAIL_PASSED:-}" ]; then
	now=$(tree)
	case ${MCPJAIL_ALL:-} in
	"") rm -rf "$MCPJAIL_PASSED" "$MCPJAIL_PASSED.compiled" ;; # of an earlier run, which this one may not confirm
	1) [ ! -e "$MCPJAIL_PASSED" ] || noted=$(cat "$MCPJAIL_PASSED") ;;
	esac
fi
if [[ -n "$now" && "$noted" = "$now"$'\n'* && -d $MCPJAIL_PASSED.compiled ]]; then
	mv "$MCPJAIL_PASSED.compiled"/* "$work"
fi

# repeated JOB reports whether test.sh has noted that it has just passed a job in this tree.
repeated() { [[ "$noted" = "$now"$'\n'* ]] && grep -qxF -- "$1" <<<"$noted"; }

# alike PACKAGE reports whether the tests of a package are the same in every form: nothing in its
# directory, and nothing that its tests import, asks for the form or for what test.sh all alone
# installs.
asks='testkit\.(All|Long|Rounds|NeedsAll|NeedsLong)\(|MCPJAIL_(ALL|CLIENTS|PRESETS|READERS|NODE|WINE)'
unlike=()
alike() {
	if [ ${#unlike[@]} -eq 0 ]; then
		mapfile -t unlike < <(unlike)
		[ ${#unlike[@]} -gt 0 ] || return
	fi
	[[ " ${unlike[*]} " != *" $1 "* ]] && [ "$1" != conformance ] && ! grep -qrE "$asks" "$1"/*.go && ! grep -qrsE "$asks" "$1/testdata"
}

# unlike prints the packages whose tests import one that asks. Package testkit has the answers.
unlike() {
	local module helpers
	module=$(go list -m)
	helpers=$(grep -rlE "$asks" --include='*.go' --exclude='*_test.go' . | grep -v '^\./internal/testkit/testkit.go$' | sed "s|^\.|$module|; s|/[^/]*$||" | sort -u)
	go list -test -f '{{.ImportPath}}{{range .Deps}} {{.}}{{end}}' ./... |
		awk -v helpers="$helpers" -v module="$module" 'BEGIN { split(helpers, h, "\n"); for (i in h) asks[h[i]] }
			$1 ~ /\.test$/ { for (i = 2; i <= NF; i++) if ($i in asks) { sub(/\.test$/, "", $1); sub("^" module "/?", "", $1); print $1; next } }'
}

# seatbelt are the packages whose tests start servers as on macOS. Sessions of calls take half of the time of all:
# test.sh leaves them to test.sh all, and has the jails that they start.
calls=lifecycle/internal/stateless
case ${MCPJAIL_ALL:-} in
"") seatbelt=(confine/integration confine/egress/tlsworker confine/egress/tlsclient lifecycle lifecycle/internal/stateful lifecycle/internal/sessiontest) ;;
1) seatbelt=(confine/integration confine/egress/tlsworker confine/egress/tlsclient lifecycle lifecycle/internal/stateful "$calls" lifecycle/internal/sessiontest) ;;
*) seatbelt=() ;;
esac

# compile_all PACKAGE... compiles the tests of packages into $work/tests/PACKAGE/test, and those of
# starts on macOS into $work/seatbelt/PACKAGE/test. One go command for all takes half of the
# processor time that one for each takes: go test runs keep in the place of the tests, which moves
# them there.
compile_all() {
	local package own=() tagged=()
	cat >"$work/keep" <<-EOF
		#!/bin/sh
		set -e
		dir=\${PWD#"$root"}
		to=$work/\$1\${dir:-/.}
		mkdir -p "\$to"
		mv "\$2" "\$to/part"
		mv "\$to/part" "\$to/test"
	EOF
	chmod 755 "$work/keep"
	for package; do # conformance is a module of its own
		[ "$package" = conformance ] || [ -e "$work/tests/$package/test" ] || own+=("./$package")
	done
	for package in "${seatbelt[@]}"; do
		[ -e "$work/seatbelt/$package/test" ] || tagged+=("./$package")
	done
	# Without DWARF the linker takes half of the time. The linker and the compiler end before a
	# collection of their garbage is worth its time.
	set -- env GOGC=off GOMEMLIMIT=512MiB go test -vet=off -count=1 '-ldflags=-s -w'
	[ ${#own[@]} -eq 0 ] || "$@" -exec "$work/keep tests" "${own[@]}" || true
	[ -e "$work/tests/conformance/test" ] || (cd conformance && "$@" -exec "$work/keep tests" .) || true
	[ ${#tagged[@]} -eq 0 ] || "$@" -tags seatbelt -exec "$work/keep seatbelt" "${tagged[@]}" || true
}

# compiled TEST waits until a test is compiled: tests/PACKAGE or seatbelt/PACKAGE.
compiled() {
	until [ -e "$work/$1/test" ]; do
		if [ -e "$work/compiled" ]; then
			cat "$work/compile.log"
			return 1
		fi
		sleep 0.1
	done
}

# ok NAME BEGIN LOG notes and prints that a job passed, how long it took, and the processor time of what
# it started, which each job has a shell of its own for.
ok() {
	times >"$3.times"
	echo "$1" >>"$work/passed"
	awk -v name="$1" -v wall=$((SECONDS - $2)) 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); cpu += 60*t[1] + t[2] } }
		END { printf "ok  \t%s\t%d s, %d s of a processor\n", name, wall, cpu }' "$3.times"
}

# Two more jobs than there are processors: many tests wait, and a client that gives up after 10 s
# still gets a processor in time.
room=$(($(nproc) + 2))

# parallel PACKAGE prints how many of its tests run at a time: more where tests wait for
# processes, clocks and each other.
parallel() {
	case $1 in
	lifecycle/internal/* | confine/egress/*) echo 4 ;;
	cmd/mcp-jail) echo 3 ;;
	conformance | confine/attacks | packages/install | internal/wine) echo 2 ;;
	*) echo 1 ;;
	esac
}

# places PACKAGE prints how many jobs a package counts for.
places() {
	case $1 in
	cmd/mcp-jail) echo 2 ;;
	*) echo 1 ;;
	esac
}

# run PACKAGE runs the tests of a package.
run() {
	local log=$work/log/$1/log begin=$SECONDS
	mkdir -p "${log%/*}"
	compiled "tests/$1" >"$log" 2>&1 &&
		(cd "$1" && exec "${defaults[@]}" "$work/tests/$1/test" -test.v -test.timeout 75m -test.parallel "$(parallel "$1")") >"$log" 2>&1 </dev/null &&
		verdict "" "$log" && ok "$1" "$begin" "$log" && return
	echo "FAIL	$1" && failures "$log"
	return 1
}

# run_worlds runs the tests of granted hosts in make test-long. Root runs them, in worlds of their
# own and as several users.
run_worlds() {
	local log=$work/log/$1/log.worlds begin=$SECONDS
	mkdir -p "${log%/*}"
	if compiled "tests/$1" >"$log" 2>&1 &&
		(cd "$1" && exec "${defaults[@]}" "$work/tests/$1/test" -test.v -test.timeout 75m -test.run '^TestEgress$') >"$log" 2>&1 </dev/null &&
		verdict "" "$log"; then
		ok "$1, its worlds" "$begin" "$log"
		touch "$log.done"
	else
		touch "$log.done"
		echo "FAIL	$1, its worlds" && failures "$log"
		return 1
	fi
}

# run_seatbelt PACKAGE runs the tests of starts on macOS, with a program that stands for sandbox-exec.
# They put themselves into namespaces of their own, without rights.
run_seatbelt() {
	local log=$work/log/$1/log.seatbelt begin=$SECONDS
	mkdir -p "${log%/*}"
	compiled "seatbelt/$1" >"$log" 2>&1 &&
		(cd "$1" && exec "${defaults[@]}" "$work/seatbelt/$1/test" -test.v -test.timeout 10m) >"$log" 2>&1 </dev/null &&
		verdict "" "$log" && ok "$1, starts on macOS" "$begin" "$log" && return
	echo "FAIL	$1, starts on macOS" && failures "$log"
	return 1
}

# ended LOG... waits until the jobs that write these logs have ended.
ended() {
	local log
	for log; do
		until [ -e "$log.done" ]; do sleep 1; done
	done
}

# as_user PACKAGE reports whether root tests a package as an ordinary user: not in make test.
as_user() {
	[ -n "${MCPJAIL_ALL:-}" ] && [ "$(id -u)" = 0 ] || return
	case $1 in
	confine/attacks) return 1 ;; # the table has both users itself
	policy | policy/* | confine | confine/* | lifecycle | lifecycle/internal/* | cmd/* | packages/install | undo | undo/*) ;;
	*) return 1 ;;
	esac
}

# run_as_user PACKAGE [PART] runs the tests of a package as the ordinary user, or a part of them:
# those of real clients, which run one at a time and mostly wait, or the rest.
# Tests that need root are skipped: make test has them. make test-all repeats those of
# confine/integration in the short form.
run_as_user() {
	local log=$work/log/$1/log${2:+.$2} others=() begin=$SECONDS all=$MCPJAIL_ALL part=()
	local reason='[Rr]oot[ :]|sources of golang.org/x/sys cannot be read'
	mkdir -p "${log%/*}"
	case $1,$all in
	confine/integration,1) all= reason="$reason|TestEgress runs this" ;; # in make test
	confine/integration,long) others=("$log.worlds") ;;
	esac
	case ${2:-} in
	clients) part=(-test.run '^TestClients') ;;
	rest) part=(-test.skip '^TestClients') ;;
	esac
	compiled "tests/$1" >"$log" 2>&1 && (cd "$work/src/$1" && exec setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups --bounding-set=-all \
		"${defaults[@]}" env -i PATH="$PATH" HOME="$work/home" USER="$user" LANG=C.UTF-8 MCPJAIL_ALL="$all" \
		MCPJAIL_REQUIRE="${MCPJAIL_REQUIRE:-}" MCPJAIL_SERVERS="$work/servers" MCPJAIL_CLIENTS="$work/clients" MCPJAIL_PRESETS="$work/presets" MCPJAIL_NODE="$work/node" MCPJAIL_PRESETS_NATIVE="${MCPJAIL_PRESETS_NATIVE:+$work/presets-native}" \
		"$work/tests/$1/test" -test.v -test.timeout 75m -test.parallel "$(parallel "$1")" "${part[@]}") >"$log" 2>&1 </dev/null &&
		ended "${others[@]}" && verdict "$reason" "$log" "${others[@]}" && ok "$1${2:+, $2}" "$begin" "$log" && return
	echo "FAIL	$1${2:+, $2}" && failures "$log"
	return 1
}

# each JOB... runs jobs, each a function, a package and perhaps a part, in the order in which there is room for
# them.
each() {
	local job package need pid bad=0 used=0
	local -A takes=()
	for job; do
		read -r _ package _ <<<"$job"
		need=$(places "$package")
		while [ "$used" -gt 0 ] && [ $((used + need)) -gt "$room" ]; do
			one_ended
		done
		${job} &
		takes[$!]=$need used=$((used + need))
	done
	while [ "$used" -gt 0 ]; do
		one_ended
	done
	return "$bad"
}

# one_ended waits for a job of each.
one_ended() {
	wait -n -p pid || bad=1
	used=$((used - ${takes[$pid]:-0})) # the compilation takes no place
}

# Packages in the order in which they start, those that take longest first.
listed=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./...) # a process substitution would lose its status
mapfile -t all < <(sed "s|^$root/||; s|^$root\$|.|" <<<"$listed")
order() {
	local first=(cmd/mcp-jail confine/integration conformance packages/install confine/attacks internal/wine internal/testkit/registry lifecycle/internal/stateless lifecycle/internal/stateful undo diagnostics) package
	if [ -n "${MCPJAIL_ALL:-}" ]; then # clients' own programs come first in cmd/mcp-jail: conformance beside them is too much
		first[2]=packages/install first[3]=conformance
	fi
	for package in "${first[@]}"; do
		[[ " $* " != *" $package "* ]] || echo "$package"
	done
	for package; do
		[[ " ${first[*]} " == *" $package "* ]] || echo "$package"
	done
}

packages=("${all[@]}" conformance)
[ "${MCPJAIL_ALL:-}" != long ] || packages=(cmd/mcp-jail confine/integration confine/attacks conformance packages/install undo diagnostics policy/resolve clients/edit)
jobs=() jails=0 left=()
known=("${packages[@]}") packages=()
for package in "${known[@]}"; do
	if ! as_user "$package" && repeated "$package" && alike "$package"; then left+=("$package"); else packages+=("$package"); fi
done
known=("${seatbelt[@]}") seatbelt=()
for package in "${known[@]}"; do
	if repeated "$package, starts on macOS" && alike "$package"; then left+=("$package, starts on macOS"); else seatbelt+=("$package"); fi
done
for package in $(order "${packages[@]}"); do
	if as_user "$package"; then
		jails=$((jails + 1))
		[ "$package,$MCPJAIL_ALL" != confine/integration,long ] || jobs+=("run_worlds $package")
		if [ "$package" = cmd/mcp-jail ]; then # else a processor would wait for the clients, and then for it
			jobs+=("run_as_user $package clients" "run_as_user $package rest")
		else
			jobs+=("run_as_user $package")
		fi
	else
		jobs+=("run $package")
	fi
done

for package in "${seatbelt[@]}"; do
	jobs+=("run_seatbelt $package")
done

if [ "$jails" -gt 0 ]; then
	user=mcpjail$$
	useradd --groups users --create-home --home-dir "$work/home" --shell /bin/sh "$user" # undo has a case for a second group
	mkdir "$work/src"
	git ls-files -z --cached --others --exclude-standard | tar --null -T - -c | tar -x -C "$work/src"
	go mod vendor -o "$work/src/vendor" # tests build mcp-jail, and root's module cache is not readable
	# What the go command has compiled, by hard links: the user can add to it, and change nothing.
	mkdir "$work/home/.cache"
	if cp -rl "$(go env GOCACHE)" "$work/home/.cache/go-build" 2>/dev/null; then
		rm -f "$work/home/.cache/go-build/trim.txt"
	else # it is on another file system
		rm -rf "$work/home/.cache/go-build"
	fi
	find "$work/home/.cache" -type d -exec chown "$user" {} +
	cp -r "$servers" "$work/servers"
	# The user only reads these: hard links, if the cache is on the same file system.
	cp -rl "$MCPJAIL_CLIENTS" "$work/clients" 2>/dev/null || { rm -rf "$work/clients" && cp -r "$MCPJAIL_CLIENTS" "$work/clients"; }
	cp -rl "$MCPJAIL_PRESETS" "$work/presets" 2>/dev/null || { rm -rf "$work/presets" && cp -r "$MCPJAIL_PRESETS" "$work/presets"; }
	cp -rl "$MCPJAIL_NODE" "$work/node" 2>/dev/null || { rm -rf "$work/node" && cp -r "$MCPJAIL_NODE" "$work/node"; }
	[ -z "$MCPJAIL_PRESETS_NATIVE" ] || cp -r "$MCPJAIL_PRESETS_NATIVE" "$work/presets-native"
	chown -R "$user" "$work/src" "$work/servers"
fi
if [ "${#left[@]}" -gt 0 ]; then
	say "make test has just passed this tree, and ${#left[@]} packages are the same in both. Not repeated:$(printf ' %s' "${left[@]/%/;}")"
fi
say "${#jobs[@]} packages, as $(id -un)${user:+; $jails of them build jails, and run as the ordinary user $user}"
{
	begin=$SECONDS
	compile_all $(order "${packages[@]}") >"$work/compile.log" 2>&1
	ok compilation "$begin" "$work/compile.log"
	touch "$work/compiled"
} &
each "${jobs[@]}"
wait # for the compilation, if no job needed it
[ -z "$user" ] || remove_user
# What has changed meanwhile may have been compiled before or after.
if [ -z "${MCPJAIL_ALL:-}" ] && [ -n "$now" ] && [ "$now" = "$(tree)" ]; then
	mkdir "$MCPJAIL_PASSED.compiled"
	mv "$work/tests" "$work/seatbelt" "$MCPJAIL_PASSED.compiled"
	{ echo "$now" && cat "$work/passed"; } >"$MCPJAIL_PASSED"
fi
burnt "everything passed in $((SECONDS / 60)) min $((SECONDS % 60)) s"
