package diagnostics

import (
	"path"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// pasted returns the policy of a configuration after a grant, with the real code.
func pasted(t *testing.T, base string, grant []string, profile *policy.Profile) *policy.Policy {
	t.Helper()
	if len(grant) == 0 {
		t.Fatal("nothing to grant")
	}
	file := "version = 1\n\n" + base + "\n"
	c, err := config.Decode([]byte(file), "mcp-jail.toml")
	if err == nil {
		err = granting(c.Servers[profile.Server], profile.Tool, grant)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	p, err := c.Policy(profile.Server, profile.Tool)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	return p
}

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
