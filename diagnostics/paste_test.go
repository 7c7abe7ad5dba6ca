package diagnostics

import (
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy/config"
)

// granting adds to a server, or to one of its tools, what mcp-jail grant does with words.
func granting(s *config.Server, tool string, words []string) error {
	var o config.CommandLineOptions
	for ; len(words) > 1; words = words[2:] {
		list := map[string]*[]string{"--read": &o.Read, "--write": &o.Write, "--execute": &o.Execute, "--net": &o.Net, "--inbound": &o.Inbound, "--env": &o.Env, "--limit": &o.Limit}[words[0]]
		if list == nil {
			o.Workspace = words[1]
			continue
		}
		*list = append(*list, words[1])
	}
	table, err := o.Table()
	if err != nil {
		return err
	}
	g := config.Grants{Table: table, Tool: tool, At: func(p string) string {
		switch {
		case strings.HasPrefix(p, "~/"):
			p = "/home/u/" + p[2:]
		case !strings.HasPrefix(p, "/"):
			p = "/home/u/work/" + p
		}
		return path.Clean(p)
	}}
	narrower, err := g.AddTo(s)
	for _, r := range narrower {
		g.Drop(s, r)
	}
	return err
}
