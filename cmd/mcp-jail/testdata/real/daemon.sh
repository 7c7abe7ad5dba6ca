# An MCP server that leaves two daemons behind: forked twice, in sessions of
# their own, deaf to the signals that can be ignored, without a pipe. With
# "stubborn" the server itself neither minds those signals nor the end of its input.
for i in 1 2; do
	setsid sh -c '(trap "" TERM INT HUP PIPE; while :; do sleep 1000; done) & exit' </dev/null >/dev/null 2>&1
done
[ "$1" = stubborn ] && trap "" TERM INT HUP PIPE
while IFS= read -r line; do
	id=${line#*'"id":'}
	id=${id%%[,\}]*}
	case $line in
	*'"method":"initialize"'*)
		printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"daemon","version":"1"}}}\n' "$id" ;;
	*'"method":"tools/list"'*)
		printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}\n' "$id" ;;
	esac
done
[ "$1" = stubborn ] && while :; do sleep 1000; done
exit 0
