package schema

import "github.com/mcp-jail/mcp-jail/policy"

func serverEntries() map[string]entry {
	return map[string]entry{
		"preset":    {"The name of a preset, which grants what a well-known server needs. mcp-jail preset lists them.", nil},
		"command":   {"The program: a name in PATH, ~/PATH, or a path. A relative path begins at the workspace.", nil},
		"arguments": {"The arguments of the program.", nil},
		"id":        {"The id of the server, in the file that mcp-jail wrap has made for it.", nil},
		"directory": {"Where such a server starts: a path, or \"workspace\". Without it, a pinned package starts where its client does, and any other line in its HOME.", nil},
		"workspace": {"The directory that relative paths begin at, and that the default policy grants. Without it, the working directory.", nil},
		"stateful":  {"true: one process serves the whole session. false: each call gets a process of its own, and each tool can have its own rules.", true},
		"variables": {"Exact names of environment variables to forward. They hold under any policy.", nil},
		"home":      {"private: the server gets its own HOME, with links to what rules grant below yours. real: HOME names yours, and rules say what can be reached there.", "private"},
		"waive":     {"Start even if these axes cannot be enforced, or what an operating system never can. Every start warns of it.", nil},
		"access":    {"What the server may touch. Without this table, the default policy grants the workspace.", nil},
		"tools":     {"Tables for single tools, by their names, of a server with stateful = false. \"*\" stands for all other tools.", nil},
	}
}

func settingEntries() map[string]entry {
	return map[string]entry{
		"roots":                {"What becomes of the client's roots. off passes them on. narrow leaves those that the server may read. advertise also answers for a client that has none, and puts the policy into messages to the server.", "off"},
		"pin_tools":            {"What happens when the tools of a server are not the pinned ones: off does nothing, warn tells you, enforce gives the client an error.", policy.PinWarn},
		"leaks":                {"What happens when the server sends a secret to the client: off does nothing, warn tells you, block sends an error in its place.", policy.LeaksWarn},
		"leak_patterns":        {"Look for well-known kinds of tokens too, not only for the secrets that the server was granted.", false},
		"undo":                 {"Keep what stands in your files before the server changes it: for the whole session, or for each call.", policy.UndoOff},
		"undo_total_mb":        {"MiB that undo keeps for a session, and for all sessions of the server together.", policy.DefaultUndoTotalMB},
		"startup_timeout_secs": {"How many seconds the first answer of the server may take. 0 waits for ever.", 60},
		"call_timeout_secs":    {"How many seconds one call of a tool may take. 0 is no limit.", 0},
		"warm":                 {"How many spare processes are kept ready for each tool, of a server with stateful = false.", 0},
		"limits":               {"What the server may use. See the keys of the table.", nil},
	}
}
