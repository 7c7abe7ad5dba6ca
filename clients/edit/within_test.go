package edit

import (
	"strings"
	"testing"
)

// TestWithin replaces words behind the first argument, in every form of a list, and takes them back.
// ¶ is the line end of Windows.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		name          string
		format        Format
		before, after string
	}{
		{"one line", JSON, `{"servers": {"s": {"command": "j", "args": ["run", "--", "npx"]}}}`, `{"servers": {"s": {"command": "j", "args": ["run", "--read", "~/a b", "--", "npx"]}}}`},
		{"minified", JSON, `{"servers":{"s":{"command":"j","args":["run","--","npx"]}}}`, `{"servers":{"s":{"command":"j","args":["run","--read","~/a b","--","npx"]}}}`},
		{"one list", JSON, `{"servers": {"s": {"command": ["j", "run", "--", "npx"]}}}`, `{"servers": {"s": {"command": ["j", "run", "--read", "~/a b", "--", "npx"]}}}`},
		{"a line each", JSON, "{\"servers\": {\"s\": {\"args\": [¶\t\"r\\u0075n\",¶\t\"--\", // here¶\t\"npx\",¶], \"command\": \"j\"}}}", "{\"servers\": {\"s\": {\"args\": [¶\t\"r\\u0075n\",¶\t\"--read\",¶\t\"~/a b\",¶\t\"--\", // here¶\t\"npx\",¶], \"command\": \"j\"}}}"},
		{"a comment between", JSON, "{\"servers\": {\"s\": {\"command\": \"j\", \"args\": [\"run\", // why\n \"--\", \"npx\"]}}}", "{\"servers\": {\"s\": {\"command\": \"j\", \"args\": [\"run\", // why\n \"--read\", \"~/a b\", \"--\", \"npx\"]}}}"},
		{"TOML", TOML, "[servers.s]\ncommand = 'j' # a\nargs = ['run', '--', \"npx\"]\n", "[servers.s]\ncommand = 'j' # a\nargs = ['run', \"--read\", \"~/a b\", '--', \"npx\"]\n"},
		{"a list of tables", TOML, "d = 2020-01-01\n[[servers]]\nname = \"s\"\ncommand = 'j'\nargs = ['run', '--', \"npx\"]\n", "d = 2020-01-01\n[[servers]]\nname = \"s\"\ncommand = 'j'\nargs = ['run', \"--read\", \"~/a b\", '--', \"npx\"]\n"},
		{"YAML, a block", YAML, "servers:\n  s:\n    command: j\n    args:\n    - run # first\n    - --\n    - npx\n", "servers:\n  s:\n    command: j\n    args:\n    - run # first\n    - --read\n    - \"~/a b\"\n    - --\n    - npx\n"},
		{"YAML, brackets", YAML, "servers:\n  s: {command: j, args: [run, '--', npx]}\n", "servers:\n  s: {command: j, args: [run, --read, \"~/a b\", '--', npx]}\n"},
	} {
		before, after := strings.ReplaceAll(c.before, "¶", "\r\n"), strings.ReplaceAll(c.after, "¶", "\r\n")
		table := Table{Path: []string{"servers"}}
		f, err := Parse(c.format, []byte(before))
		if err != nil {
			t.Fatal(c.name, err)
		}
		got, err := f.Apply(Change{Server: f.Servers(table)[0], At: 2, Words: []string{"--read", "~/a b"}})
		if err != nil || string(got) != after {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, after)
			continue
		}
		g, err := Parse(c.format, got)
		if err != nil {
			t.Fatal(c.name, err)
		}
		back, err := g.Apply(Change{Server: g.Servers(table)[0], At: 2, Drop: 2})
		if err != nil || string(back) != before {
			t.Errorf("%s: back: %v\n%s\nwant\n%s", c.name, err, back, before)
		}
		other, err := g.Apply(Change{Server: g.Servers(table)[0], At: 3, Drop: 1, Words: []string{"x"}})
		if want := strings.Replace(after, `"~/a b"`, `"x"`, 1); err != nil || strings.ReplaceAll(string(other), " x", ` "x"`) != want {
			t.Errorf("%s: another value: %v\n%s\nwant\n%s", c.name, err, other, want)
		}
	}
}

// TestWithinRefused: the program and the last word are not replaced there.
func TestWithinRefused(t *testing.T) {
	f, err := Parse(JSON, []byte(`{"servers": {"s": {"command": "j", "args": ["run", "--", "npx"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Servers(Table{Path: []string{"servers"}})[0]
	for _, c := range []Change{{At: 1, Words: []string{"x"}}, {At: -1, Words: []string{"x"}}, {At: 4, Words: []string{"x"}}, {At: 2, Drop: 2}, {At: 3, Drop: -1}} {
		c.Server = s
		if got, err := f.Apply(c); err == nil {
			t.Errorf("%d, %d: %s", c.At, c.Drop, got)
		}
	}
}
