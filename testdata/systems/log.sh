#!/bin/bash
# Asks the log of macOS once, as an administrator: a sandbox that refuses a read must leave a line
# with its tag. It prints the line as it is, from which the tests of package sandboxlog are made.
set -euo pipefail
tag=mcpj-$(od -An -N4 -tx1 /dev/urandom | tr -d ' \n')
if [ ! -x /usr/bin/sandbox-exec ] || [ ! -x /usr/bin/log ]; then
	echo "this system has no sandbox-exec or no log" >&2
	exit 1
fi
profile="(version 1)(allow default)(deny file-read-data (literal \"/private/etc/hosts\") (with message \"$tag\"))"
if /usr/bin/sandbox-exec -p "$profile" /bin/cat /etc/hosts 2>/dev/null; then
	echo "the sandbox let a refused read through" >&2
	exit 1
fi
for _ in 1 2 3 4 5 6; do # a line may come late
	found=$(/usr/bin/log show --style ndjson --last 60s --predicate "sender == \"Sandbox\" AND eventMessage CONTAINS \"$tag\"")
	if grep -q "file-read-data" <<<"$found"; then
		printf '%s\n' "$found"
		exit 0
	fi
	sleep 5
done
echo "the log has no line with the tag $tag" >&2
exit 1
