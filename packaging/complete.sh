#!/bin/bash
# Fails unless an unpacked archive of a release is whole: complete.sh DIRECTORY [ENDING]
# ENDING is what the names of programs end with, such as .exe.
set -euo pipefail
ending=${2:-}
missing=
for name in "mcp-jail$ending" "mcp-jail-cli$ending" "mcp-jail-tls$ending" LICENSE THIRD_PARTY_LICENSES README.md \
	packaging/man/mcp-jail.1 packaging/man/mcp-jail-wrap.1 packaging/completions/mcp-jail.bash \
	packaging/completions/_mcp-jail packaging/completions/mcp-jail.fish docs/mcp-jail.schema.json; do
	if [ ! -s "$1/$name" ]; then
		missing="$missing $name"
	fi
done
for name in mcp-jail mcp-jail-cli mcp-jail-tls; do
	if [ -z "$ending" ] && [ -e "$1/$name" ] && [ ! -x "$1/$name" ]; then
		missing="$missing $name(executable)"
	fi
done
if [ -n "$missing" ]; then
	echo "the archive in $1 lacks:$missing" >&2
	exit 1
fi
