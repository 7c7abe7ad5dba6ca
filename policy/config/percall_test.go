package config

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestSetPerCall: with a process for each call, the tools have the rules of the server, and the process that lists them has the
// word for the workspace alone; taken back, the server has the rules of all tools.
func TestSetPerCall(t *testing.T) {
	const head = "[servers.x]\nid = \"x-4k7q2m9x3vt5\"\ncommand = \"/bin/true\"\n"
	const notes = "[[servers.x.access.fs]]\npath = \"~/notes\"\nread = true\n"
	for _, c := range []struct {
		name, rules string
		perCall     bool
		want        string // the rules of each process: of the listing one, of a tool, and of the tool b
	}{
		{"the default", "", true, "write; write; write"},
		{"a word alone", "[servers.x.access]\nworkspace = \"read\"\n", true, "read; read; read"},
		{"rules", "[servers.x.access]\nworkspace = \"read\"\n" + notes, true, "read; read ~/notes; read ~/notes"},
		{"a folder without the word", notes, true, "read; read ~/notes; read ~/notes"},
		{"a folder to write in, and another", strings.Replace(notes, "read", "write = true\nread", 1) + strings.ReplaceAll(notes, "notes", "more"), true, "write; write ~/notes ~/more; write ~/notes ~/more"},
		{"a relative rule beside it", notes + strings.ReplaceAll(notes, "~/notes", "docs"), true, "none; none ~/notes docs; none ~/notes docs"},
		{"a file without the word", strings.ReplaceAll(notes, "notes", "a.txt"), true, "none; none ~/a.txt; none ~/a.txt"},
		{"what takes away", notes + "[[servers.x.access.fs]]\npath = \"~/notes/a\"\ndeny = true\n", true, "the process that lists the tools would have it"},
		{"taken back", "stateful = false\n[servers.x.access]\nworkspace = \"none\"\n[servers.x.tools.\"*\".access]\nworkspace = \"none\"\n" + strings.ReplaceAll(notes, "access", "tools.\"*\".access") +
			"[servers.x.tools.b.access]\nworkspace = \"read\"\n[[servers.x.tools.b.access.net]]\nhost = \"b.test\"\nallow = true\n", false, "read ~/notes b.test"},
		{"a denial of a tool", "stateful = false\n[[servers.x.tools.b.access.fs]]\npath = \"~/notes\"\ndeny = true\n", false, "one process serves all of them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := decodeServerFile([]byte(head+c.rules), "/x.toml")
			testkit.Must(t, err)
			if err = (Grants{At: func(path string) string { return path }}).SetPerCall(f.Server, c.perCall, func(path string) bool { return path != "~/a.txt" }); err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Fatal(err)
				}
				return
			}
			f, err = f.Checked()
			testkit.Must(t, err)
			tools := []string{""}
			if c.perCall {
				tools = append(tools, "a", "b")
			}
			var got []string
			for _, tool := range tools {
				p := f.Server.process(tool)
				got = append(got, summary(p))
			}
			testkit.Equal(t, "the processes", strings.Join(got, "; "), c.want)
		})
	}
}

// summary returns the word for the workspace, and what else a policy grants.
func summary(p *policy.Policy) string {
	words := []string{"none"}
	for _, r := range p.Fs {
		switch {
		case r.Path != ".":
			words = append(words, r.Path)
		case r.Update:
			words[0] = "write"
		default:
			words[0] = "read"
		}
	}
	for _, r := range p.Net {
		words = append(words, r.Host)
	}
	return strings.Join(words, " ")
}
