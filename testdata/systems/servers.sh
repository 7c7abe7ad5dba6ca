#!/bin/bash
# Starts five real servers in their jails, from the lines that their authors tell people to use:
#
#   testdata/systems/servers.sh MCP-JAIL [WAIVED...]
#
# Each line is written into a configuration, installed, and called: call starts the server in
# its jail and lists its tools. WAIVED are words of waive. A server that fails ends this with status 1.
set -euo pipefail
program=$(realpath "$1")
shift
waive=
for word in "$@"; do waive="$waive${waive:+, }\"$word\""; done
work=$(mktemp -d "$HOME/.mcp-jail-servers-XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
export XDG_CONFIG_HOME="$work/config" XDG_STATE_HOME="$work/state" XDG_DATA_HOME="$work/data" XDG_CACHE_HOME="$work/cache"
mkdir -p project config/mcp-jail

# server NAME COMMAND ARGUMENT... adds a server to the configuration.
server() {
	local name=$1 command=$2 arguments=
	shift 2
	for word in "$@"; do arguments="$arguments${arguments:+, }\"$word\""; done
	printf '[servers.%s]\ncommand = "%s"\narguments = [%s]\nwaive = [%s]\n\n' "$name" "$command" "$arguments" "$waive" >>config/mcp-jail/config.toml
}
printf 'version = 1\n\n' >config/mcp-jail/config.toml
server everything npx -y @modelcontextprotocol/server-everything
server filesystem npx -y @modelcontextprotocol/server-filesystem "$work/project"
server memory npx -y @modelcontextprotocol/server-memory
server thinking npx -y @modelcontextprotocol/server-sequential-thinking
server time uvx mcp-server-time

failed=
for name in everything filesystem memory thinking time; do
	if ! (cd project && "$program" install --yes "$name") || ! (cd project && "$program" call "$name"); then
		failed="$failed $name"
	fi
done
if [ -n "$failed" ]; then
	echo "servers that do not work here:$failed" >&2
	exit 1
fi
