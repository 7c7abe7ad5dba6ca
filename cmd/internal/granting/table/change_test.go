package table

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// A form is a way to write the table of a server. "[it" is "[servers.x".
type form struct{ name, tool, text string }

const (
	command = "[it]\ncommand = \"/bin/true\"\n"
	inline  = "{ path = \".\", read = true }"
	here    = "[[it.access.fs]]\npath = \".\"\nread = true\n"
	perCall = command + "stateful = false\n"
)

// forms has those of the harness of diagnostics (cmd/mcp-jail), and more.
var forms = []form{
	{"default", "", command},
	{"table", "", command + here + "write = true\n"},
	{"table-read", "", command + here},
	{"table-write-only", "", command + "[[it.access.fs]]\npath = \".\"\nwrite = true\n"},
	{"table-narrower", "", command + here + "write = true\n[[it.access.fs]]\npath = \"sub\"\nread = true\n"},
	{"table-nothing", "", command + here + "write = true\n[[it.access.fs]]\npath = \"sub\"\n"},
	{"table-create", "", command + here + "create = true\n"},
	{"list", "", command + "[it.access]\nfs = [" + inline + "]\n"},
	{"list-empty", "", command + "[it.access]\nfs = []\n"},
	{"list-nothing", "", command + "[it.access]\nfs = [{ path = \".\", read = true, write = true }, { path = \"sub\" }]\n"},
	{"access", "", command + "access = { fs = [" + inline + "] }\n"},
	{"commands", "", command + here + "[it.access.commands.python3]\n[it.access.commands.sh]\n"},
	{"commands-inline", "", command + "[it.access]\nfs = [" + inline + "]\ncommands = { python3 = {}, sh = {} }\n"},
	{"per-call", "act", perCall + "[[it.tools.act.access.fs]]\npath = \".\"\nread = true\nwrite = true\n"},
	{"per-call-list", "act", perCall + "[it.tools.act.access]\nfs = [" + inline + "]\n"},
	{"per-call-access", "act", perCall + "[it.tools.act]\naccess = { fs = [" + inline + "] }\n"},
	{"per-call-tool", "act", perCall + "[it.tools]\nact = { access = { fs = [" + inline + "] } }\n"},
	{"per-call-any", "*", perCall + "[[it.tools.\"*\".access.fs]]\npath = \".\"\nread = true\n"},
	{"per-call-default", "act", perCall},

	{"access-empty", "", command + "[it.access]\n"},
	{"access-braces-empty", "", command + "access = {}\n"},
	{"access-braces-blank", "", command + "access = { }\n"},
	{"server-braces", "", "[servers]\nx = { command = \"/bin/true\" }\n"},
	{"server-braces-access", "", "[servers]\nx = { command = \"/bin/true\", access = { fs = [" + inline + "] } }\n"},
	{"dotted", "", "[servers]\nx.command = \"/bin/true\"\nx.access.fs = [" + inline + "]\n"},
	{"dotted-top", "", "servers.x.command = \"/bin/true\"\nservers.x.access.net = [{ host = \"a.example\", allow = true }]\n"},
	{"dotted-default", "", "servers.x.command = \"/bin/true\"\n"},
	{"dotted-access", "", command + "access.fs = [" + inline + "]\n"},
	{"quoted", "", "[\"servers\".'x']\n'command' = \"/bin/true\"\n[[servers.\"x\".access.fs]]\n\"path\" = '.'\n\"read\" = true\n"},
	{"many-lines", "", command + "[it.access]\nfs = [ # the files\n\t{ path = \".\", read = true }, # here\n\n\t# the other\n\t{ path = \"other\", read = true } # no comma\n] # end\n"},
	{"many-lines-comma", "", command + "[it.access]\nfs = [\n    { path = \".\", read = true },\n    { path = \"other\", read = true }, # comma\n    # the end\n]\nnet = [\n]\n"},
	{"one-line-comma", "", command + "[it.access]\nfs = [ {path=\".\",read=true}, ]\n"},
	{"strategy", "", command + "[it.access]\nfs = { strategy = \"prepend\", value = [" + inline + "] }\n"},
	{"strategy-header", "", command + "[it.access.fs]\nstrategy = \"dedup\"\nvalue = [\n  " + inline + "\n]\n"},
	{"variables", "", command + "variables = [\"A\", 'B']\n[it.limits]\nprocesses = 100\n"},
	{"env-rule", "", command + "[[it.access.env]]\nname = \"A\"\nread = true\n"},
	{"indented", "", "[servers]\n  [it]\n    command = \"/bin/true\"\n\n    [it.access]\n\n      [[it.access.fs]]\n        path = \".\"   # the workspace\n        read = true\n\n# the end\n"},
	{"no-newline", "", command + "[it.access]\n[[it.access.fs]]\npath = \".\"\nread = true"},
	{"comment-last", "", command + here + "# more\n"},
	{"braces-lines", "", "[servers]\nx = { # the server\n  command = \"/bin/true\",\n  access = {\n    fs = [\n      {\n        path = \".\", # here\n        read = true,\n      },\n    ],\n  }, # the end\n}\n"},
	{"sensitive", "", command + "[it.access]\nsensitive_paths = [\"secret\"]\n"},
}

// edges are what is around the table.
var edges = []struct {
	name string
	in   func(string) string
}{
	{"alone", func(s string) string { return s }},
	{"crlf", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
	{"mark", func(s string) string { return "\ufeffversion = 1\n" + s }},
	{"between", func(s string) string {
		if strings.HasPrefix(s, "servers.") {
			return "version = 1 # first\n\n" + s + "\n# about y\n[servers.y]\ncommand = \"/bin/false\"\n"
		}
		return "version = 1 # first\n\n# about x\n" + s + "\n# about y\n[servers.y] # another\n  command = \"/bin/false\"\n  [[servers.y.access.fs]]\n  path = \"/\"\n"
	}},
}

// grants has one of each kind. Some are there already in some forms.
var grants = [][]string{
	{"--read", "/srv/data"}, {"--write", "/srv/data"}, {"--execute", "/srv/bin"}, {"--write", "/srv/data", "--execute", "/srv/data"}, {"--read", "~/notes dir"}, {"--read", "sub"}, {"--write", "sub"}, {"--execute", "sub"},
	{"--write", "."}, {"--read", "."}, {"--execute", "."}, {"--write", "out/"}, {"--deny", "sub/private"},
	{"--net", "api.example.com"}, {"--net", "localhost:3000"}, {"--net", "*.example.org"}, {"--inbound", "3334"},
	{"--env", "TOKEN"}, {"--env", "APP_*"}, {"--limit", "memory_mb=8192"}, {"--workspace", "/srv/work"}, {"--startup-timeout", "90"},
	{"--read", "/srv/a", "--write", "/srv/b", "--net", "a.example.net", "--env", "TWO", "--limit", "open_files=5000"},
}

func (f form) whole() string { return strings.ReplaceAll(f.text, "[it", "[servers.x") }

// TestRoundTrip grants each kind in each form, and takes it back: the file is the same again. What Apply
// verifies by itself is not repeated.
func TestRoundTrip(t *testing.T) {
	changed, tried := 0, 0
	for i, f := range forms {
		for k, e := range edges {
			if k > 0 && (i+k)%len(edges) != 0 && !testkit.Long() {
				continue // each edge with a part of the forms
			}
			before := e.in(f.whole())
			if _, err := config.Decode([]byte(before), "c.toml"); err != nil {
				t.Fatalf("%s, %s: %v\n%s", f.name, e.name, err, before)
			}
			for _, flags := range grants {
				tried++
				name := f.name + ", " + e.name + ", " + strings.Join(flags, " ")
				c := Change{File: "c.toml", Server: "x", Tool: f.tool, Flags: flags}
				if f.tool != "" && strings.Contains(name, "--workspace") {
					continue
				}
				granted, err := c.Apply([]byte(before))
				if err != nil {
					t.Errorf("%s: %v\n%s", name, err, before)
					continue
				}
				after := string(granted.Text)
				if after == before {
					if len(granted.Already) == 0 {
						t.Errorf("%s: nothing changes\n%s", name, before)
					}
					continue
				}
				changed++
				if again, err := c.Apply(granted.Text); err != nil || string(again.Text) != after {
					t.Errorf("%s, again: %v\n%s\nbecomes\n%s", name, err, after, again.Text)
				}
				if len(granted.Already) > 0 {
					continue // to take back all is more than this has granted
				}
				c.Remove = true
				back, err := c.Apply(granted.Text)
				if err != nil || string(back.Text) != before {
					t.Errorf("%s: %v\n%s\nbecomes\n%s\nand then\n%s", name, err, before, after, back.Text)
				}
			}
		}
	}
	if changed < tried*8/10 {
		t.Errorf("only %d changes of %d", changed, tried)
	}
}
