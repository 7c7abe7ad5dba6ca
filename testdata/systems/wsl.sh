#!/bin/bash
# Tries servers in WSL 2 on a runner with Windows, under Git's bash.
#
# It installs a distribution, and mcp-jail in it, as an ordinary user has it. Then from inside: what
# doctor says, the attacks, and whether a program of Windows starts from a jail. And from Windows:
# a session by the words that wrap --windows writes.
set -euo pipefail
export MSYS_NO_PATHCONV=1 MSYS2_ARG_CONV_EXCL='*' WSL_UTF8=1 # words reach wsl.exe as they are
cd "$(dirname "$0")/../.."
linux=Ubuntu-24.04

# as USER COMMAND... runs a command in the distribution.
as() {
	local user=$1
	shift
	wsl.exe -d "$linux" -u "$user" --cd '~' --exec "$@" </dev/null
}

wsl.exe --version
wsl.exe --install "$linux" --no-launch

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
answer=$(wsl.exe -d "$linux" --cd '~' --exec /usr/local/bin/mcp-jail run --name attacker "${flags[@]}" -- /usr/local/bin/systems serve /home/tester/plan.json <<<"$hello")
grep -qF '"serverInfo":{"name":"attacker"' <<<"$answer"
as tester mcp-jail why --list | grep -F attacker
echo 'WSL 2: every step has passed'
