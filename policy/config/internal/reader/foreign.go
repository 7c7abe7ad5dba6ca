package reader

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
)

// suggestForeign returns advice for a key of another program's configuration, or "" for a key
// that it does not know. Many configurations are copied from the files of clients, or of
// programs that limit tools. n is the value of the key name; key is the dotted name of the
// table that contains it, "" at the top of the file.
func suggestForeign(key, name string, n *node) string {
	parts := strings.Split(key, ".")
	switch {
	case key == "":
		return foreignTable(name, n)
	case len(parts) == 2 && parts[0] == "servers":
		return foreignServerKey(key, name)
	case parts[len(parts)-1] == "access" && name == "mounts":
		return "write a rule for each: " + mountRule(key)
	}
	return ""
}

func foreignTable(name string, n *node) string {
	inner := func(name string) (first string, ok bool) {
		child := n.Table[name]
		if child == nil {
			return "", false
		}
		return firstName(child), true
	}
	const server = "write [servers.%s] with command, arguments and variables"
	switch name {
	case "mcpServers", "mcp_servers", "context_servers", "mcp":
		return fmt.Sprintf(server, firstName(n))
	case "providers":
		if first, ok := inner("mcp"); ok {
			return fmt.Sprintf("providers.mcp declares servers: "+server, first)
		}
	case "conversation":
		if _, ok := inner("tools"); ok {
			return "conversation.tools declares tools: write [servers.NAME.access] for all tools of a server, or stateful = false and [servers.NAME.tools.TOOL.access] for one"
		}
	case "agents":
		if _, ok := inner("sandbox"); ok {
			return "agents.sandbox is the policy of an agent: write that of each server, [servers.NAME.access] with fs, net, env and commands, and [servers.NAME.limits]"
		}
	case "sandbox":
		return "write the policy of each server, [servers.NAME.access] with fs, net, env and commands, and [servers.NAME.limits]"
	case "mounts":
		return "write a rule for each: " + mountRule("servers.NAME.access")
	case "pin_tools", "leaks", "leak_patterns", "undo", "undo_total_mb", "preset", "stateful", "workspace", "home", "waive":
		return "write it below [servers.NAME], for each server"
	}
	return ""
}

func foreignServerKey(key, name string) string {
	switch name {
	case "args":
		return "write arguments = [...]"
	case "env":
		return `write variables = ["NAME"]: values are taken from the environment that mcp-jail is started in, as a client's own env table sets it, and do not stand here`
	case "cwd":
		return "write workspace"
	case "mounts":
		return "write a rule for each: " + mountRule(key+".access")
	case "sandbox":
		return "write [" + key + ".access] with fs, net, env and commands, and [" + key + ".limits]"
	case "url", "type", "transport":
		return "leave it out: a server is a program that speaks MCP on its standard input and output, which command names"
	}
	return ""
}

func mountRule(access string) string {
	return "[[" + access + ".fs]] with path, read = true, and write = true where it is no read-only one; nothing is mounted at another path"
}

func firstName(n *node) string {
	if n.Kind == toml.Table {
		for _, name := range n.Keys {
			if policy.ValidServerName(name) && n.Table[name].Kind == toml.Table {
				return show.Key(name)
			}
		}
	}
	return "NAME"
}
