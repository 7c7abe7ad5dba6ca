package schema

import "github.com/mcp-jail/mcp-jail/policy"

// An entry describes a key. preset is the value that holds if the key is left out, or nil.
type entry struct {
	text   string
	preset any
}

func lookUp(table, key string) entry {
	all := entries()
	for _, of := range []map[string]entry{all[table], all["setting"], all["joined"]} {
		if e, ok := of[key]; ok {
			return e
		}
	}
	return entry{}
}

// tables are the descriptions of tables.
var tables = map[string]string{
	"":         "A configuration file of mcp-jail, which starts MCP servers in a jail.",
	"defaults": "What holds for every server that does not say otherwise. It cannot grant files, hosts or programs.",
	"server":   "One MCP server: how it is started, and what it may touch.",
	"tool":     "One tool of a server with stateful = false. The name \"*\" stands for every tool without a table of its own.",
	"access":   "What the server may touch. The table replaces the default policy, which grants the workspace, unless it has denials, sensitive_paths or workspace alone.",
	"limits":   "What the server may use: all its processes together, but open_files counts for each process, file_size_mb for each file and message_mb for each message.",
	"fs":       "A rule for one path and everything below it. Rights of all rules add up, and deny takes away.",
	"net":      "A rule for one host. Hosts that no rule allows cannot be reached.",
	"inbound":  "A port on which the host reaches the server.",
	"env":      "A rule for environment variables. Variables that no rule forwards are not set, except for a minimal set such as PATH.",
	"command":  "A program that the server may start, with which arguments and variables. Several tables for one program add up.",
	"secret":   "A secret that mcp-jail puts into requests to this host. The server sees a placeholder.",
}

func entries() map[string]map[string]entry {
	limits := policy.DefaultLimits
	return map[string]map[string]entry{
		"": {
			"version":  {"The version of the format.", nil},
			"defaults": {"What holds for every server that does not say otherwise.", nil},
			"servers":  {"The servers, by their names. Letters, digits, '.', '_' and '-' make up a name.", nil},
		},
		"defaults": {
			"env":             {"Rules for environment variables, before those of each server.", nil},
			"sensitive_paths": {"More paths that are hidden inside wider grants of every server. They join the built-in list.", nil},
			"waive":           {"Start every server even if this operating system cannot enforce what it never can. Every start warns of it.", nil},
		},
		"server":  serverEntries(),
		"setting": settingEntries(),
		"tool": {
			"access": {"What a call of this tool may touch.", nil},
			"warm":   {"How many spare processes are kept ready for this tool. Without it, the server's number counts.", nil},
		},
		"access": accessEntries(),
		"limits": {
			"memory_mb":    {"MiB of memory for all processes together, /tmp included.", limits.MemoryMB},
			"processes":    {"Processes and threads.", limits.Processes},
			"open_files":   {"Open files of one process.", limits.OpenFiles},
			"file_size_mb": {"MiB of one file that the server writes.", limits.FileSizeMB},
			"message_mb":   {"MiB of one MCP message.", limits.MessageMB},
		},
		"fs":      fsEntries(),
		"net":     netEntries(),
		"secret":  secretEntries(),
		"inbound": {"port": {"The port of the host's loopback, which leads to the same port in the jail.", nil}},
		"env": {
			"name": {"The name of a variable, or its beginning with one '*' at the end.", nil},
			"read": {"Forward the variable to the server; false refuses it.", nil},
		},
		"command": {
			"args": {"Lists of words that the arguments must match whole. \"*\" is one argument, \"**\" at the end any number. Without it, any arguments will do.", nil},
			"envs": {"The variables that the program gets besides the minimal set: names, or beginnings with one '*' at the end. Without it, it gets those of its parent.", nil},
		},
		"joined": {
			"strategy": {"How the list joins that of earlier files: after it, before it, in its place, or after it without repetitions.", nil},
			"value":    {"The list itself.", nil},
		},
	}
}

func accessEntries() map[string]entry {
	return map[string]entry{
		"fs":              {"Rules for files and directories.", nil},
		"net":             {"Rules for hosts that the server may reach.", nil},
		"inbound":         {"Ports on which the host reaches the server, such as for the callback of a login. At most 64.", nil},
		"env":             {"Rules for environment variables.", nil},
		"commands":        {"The programs that the server may start, by name or path. Without this table, it may start every program that its files allow.", nil},
		"workspace":       {"What the server may do in its workspace. Without it, nothing where the table grants something, and else to write.", nil},
		"sensitive_paths": {"More paths that are hidden inside wider grants: a path as in a rule, or **/NAME for any depth. They join the built-in list.", nil},
	}
}

func fsEntries() map[string]entry {
	return map[string]entry{
		"path":    {"A path: relative to the workspace, absolute, or below the home directory with ~/. There are no patterns.", nil},
		"read":    {"Open files for reading and list directories.", false},
		"write":   {"What create, update and delete are where they are left out.", false},
		"create":  {"Make new files, directories and links. Without it, the value of write counts.", nil},
		"update":  {"Open existing files for writing. Without it, the value of write counts.", nil},
		"delete":  {"Remove files and empty directories. Without it, the value of write counts.", nil},
		"execute": {"Start files as programs. This needs read too.", false},
		"deny":    {"Take rights away, whatever other rules say. true hides the path. \"write\" keeps it from being changed. No other key but path is beside it.", nil},
	}
}

func netEntries() map[string]entry {
	return map[string]entry{
		"host":        {"A DNS name, *.NAME for every name below it, an IP address, localhost, or * for every host.", nil},
		"scheme":      {"The protocol. Without it, any.", nil},
		"port":        {"The port. Without it, 80 for http, 443 for https, and both without a scheme. The scheme tcp needs one.", nil},
		"path_prefix": {"The beginning of the path of a request, compared by segments. It begins with '/'.", nil},
		"methods":     {"Methods of HTTP in capitals, such as GET. Without it, any. CONNECT is refused.", nil},
		"secret":      {"One secret, or several in an array, that mcp-jail puts into requests to this host. It needs allow = true and TLS.", nil},
		"allow":       {"Allow what the rule matches; false refuses it.", nil},
	}
}

func secretEntries() map[string]entry {
	return map[string]entry{
		"env":     {"The variable in which the server finds a placeholder. Without file and command, mcp-jail takes the secret from its own variable of this name.", nil},
		"file":    {"The file that has the secret.", nil},
		"command": {"The program that prints the secret, with its arguments. It runs outside of the jail.", nil},
		"header":  {"The header fields that may carry the secret. Without it, the usual ones, such as Authorization.", nil},
	}
}
