package reader

import "strings"

const (
	declareServer = "write [servers.NAME] with command, arguments and variables"
	policyOfEach  = "write the policy of each server, [servers.NAME.access] with fs, net, env and commands, and [servers.NAME.limits]"
	mountRule     = "write a rule for each: [[servers.NAME.access.fs]] with path, read = true, and write = true where it is no read-only one; nothing is mounted at another path"
	inEachServer  = "write it below [servers.NAME], for each server"
	forAll        = "it would hold for every server, also for one that did not ask for it: write it into [servers.NAME]"
)

// foreignKeys has advice for keys of other programs' configurations, and for keys in the wrong table, by the table
// in which they stand. Many configurations are copied from the files of clients, or of programs that limit tools.
var foreignKeys = map[string]map[string]string{
	"": {
		"mcpServers": declareServer, "mcp_servers": declareServer, "context_servers": declareServer, "mcp": declareServer, "providers": declareServer,
		"agents": policyOfEach, "sandbox": policyOfEach, "mounts": mountRule,
		"conversation": "write [servers.NAME.access] for all tools of a server, or stateful = false and [servers.NAME.tools.TOOL.access] for one",
		"pin_tools":    inEachServer, "leaks": inEachServer, "leak_patterns": inEachServer, "undo": inEachServer, "undo_total_mb": inEachServer,
		"preset": inEachServer, "stateful": inEachServer, "workspace": inEachServer, "home": inEachServer, "waive": inEachServer,
	},
	"defaults": {
		"access": forAll, "command": forAll, "arguments": forAll, "variables": forAll, "workspace": forAll, "home": forAll, "preset": forAll,
		"stateful": forAll, "tools": forAll,
	},
	"server": {
		"args": "write arguments = [...]",
		"env":  `write variables = ["NAME"]: values are taken from the environment that mcp-jail is started in, as a client's own env table sets it, and do not stand here`,
		"cwd":  "write workspace", "mounts": mountRule, "sandbox": policyOfEach,
		"url": standardStreams, "type": standardStreams, "transport": standardStreams,
	},
	"access": {"mounts": mountRule},
}

const standardStreams = "leave it out: a server is a program that speaks MCP on its standard input and output, which command names"

// tableName returns the table of foreignKeys for a dotted key.
func tableName(key string) string {
	parts := strings.Split(key, ".")
	if len(parts) == 2 && parts[0] == "servers" {
		return "server"
	}
	return parts[len(parts)-1]
}
