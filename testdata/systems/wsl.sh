#!/bin/bash
# Tries servers in WSL 2 on a runner with Windows, under Git's bash: wsl.sh MCP-JAIL
#
# It installs a distribution, and mcp-jail in it, as an ordinary user has it. Then from inside: the
# what doctor says, the attacks, and whether a program of Windows starts from a jail. And from
# Windows: a session by run --wsl, its end, a package of npm, and the sentences for what is missing.
set -euo pipefail
export MSYS_NO_PATHCONV=1 MSYS2_ARG_CONV_EXCL='*' WSL_UTF8=1 # words reach wsl.exe as they are
program=$(realpath "$1")
cd "$(dirname "$0")/../.."
linux=Ubuntu-24.04

# fails SENTENCE COMMAND... runs a command that must fail, and say a sentence.
fails() {
	local sentence=$1 said
	shift
	if said=$("$@" </dev/null 2>&1); then
		echo "it does not fail: $*" >&2
		exit 1
	fi
	grep -qF -- "$sentence" <<<"$said" || {
		printf '%s\nlacks: %s\n' "$said" "$sentence" >&2
		exit 1
	}
}
# as USER COMMAND... runs a command in the distribution.
as() {
	local user=$1
	shift
	wsl.exe -d "$linux" -u "$user" --cd '~' --exec "$@" </dev/null
}

wsl.exe --version
fails 'install' "$program" run --wsl "$linux" --name s -- server # no distribution yet
wsl.exe --install "$linux" --no-launch
fails "the distribution $linux has no mcp-jail" "$program" run --wsl "$linux" --name s -- server

GOOS=linux GOARCH=amd64 go build -o bin/linux/ ./cmd/... ./testdata/systems
here=$(as root wslpath -a "$(cygpath -m "$PWD")")
as root useradd -m tester
as root install "$here/bin/linux/mcp-jail" "$here/bin/linux/mcp-jail-cli" "$here/bin/linux/mcp-jail-tls" "$here/bin/linux/systems" /usr/local/bin
as root sh -c 'printf "[user]\ndefault=tester\n" >>/etc/wsl.conf'
as root sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm'
wsl.exe --terminate "$linux" # so that the next start knows its user, and so that a stopped one is tried

# From inside: can a jail be built, and does it hold? The rows about Windows have their control.
as tester mcp-jail doctor
as tester systems attacks /usr/local/bin/mcp-jail
wsl.exe --terminate "$linux"

# From Windows, the first time with a stopped distribution.
as tester sh -c 'echo "{}" >plan.json'
wsl.exe --terminate "$linux"
hello='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"wsl","version":"1"}}}'
flags=(--read '~/plan.json' --execute /usr/local/bin/systems)
answer=$("$program" run --wsl "$linux" --name attacker "${flags[@]}" -- /usr/local/bin/systems serve /home/tester/plan.json <<<"$hello")
grep -qF '"serverInfo":{"name":"attacker"' <<<"$answer"
as tester mcp-jail why --list | grep -F attacker

# It ends with mcp-jail on Windows, however that ends.
"$program" run --wsl "$linux" --name ended "${flags[@]}" -- /usr/local/bin/systems serve /home/tester/plan.json < <(echo "$hello"; sleep 600) >bin/systems/ended.txt &
for _ in $(seq 60); do
	if grep -q serverInfo bin/systems/ended.txt; then break; fi
	sleep 1
done
as tester pgrep -f 'systems serve' >/dev/null
taskkill /F /PID "$(cat "/proc/$!/winpid")"
for _ in $(seq 30); do
	if ! as tester pgrep -f 'systems serve' >/dev/null; then ended=1 && break; fi
	sleep 1
done
[ -n "${ended:-}" ] || {
	echo 'a server goes on after mcp-jail.exe was ended' >&2
	exit 1
}

# A real server, from the line of its author, with a directory of Windows.
mkdir -p "$HOME/wsl-tried"
echo found >"$HOME/wsl-tried/here.txt"
directory=$(cygpath -w "$HOME/wsl-tried")
{
	echo "$hello"
	echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
	printf '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_directory","arguments":{"path":"%s"}}}\n' "$(as tester wslpath -a "$(cygpath -m "$HOME/wsl-tried")")"
	for _ in $(seq 300); do # its package is fetched first
		if grep -q '"id":2' bin/systems/files.txt; then break; fi
		sleep 1
	done
} | "$program" run --wsl "$linux" --name files --preset filesystem -- npx -y @modelcontextprotocol/server-filesystem "$directory" >bin/systems/files.txt
grep -qF here.txt bin/systems/files.txt

fails 'WSL has no distribution "None"' "$program" run --wsl None --name s -- server
fails 'is a path that Linux does not have' "$program" run --wsl "$linux" --name s -- server '\\host\share'
echo 'WSL 2: every step has passed'
