package edit

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// wrapper are the words that the tests put in front of every server.
var wrapper = []string{"/opt/jail", "run", "--"}

// TestRemoveRefused: words that a client or a person has written anew are not removed where that could
// change more than them.
func TestRemoveRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"comment before the first dash", "s:\n  command: /opt/jail\n  args:\n  # c\n  - run\n  - --\n  - npx\n", "remove the comment"},
		{"dash alone", "s:\n  command: /opt/jail\n  args:\n  - run\n  - --\n  - npx\n  -\n    -y\n", "line 8: the word is not directly after its dash"},
		{"number", "s:\n  command: /opt/jail\n  args: [run, --, 5]\n", "the program would be a number"},
		{"block scalar", "s:\n  command: /opt/jail\n  args:\n  - run\n  - --\n  - |-\n    npx\n", "line 6: the program is a block scalar"},
		{"tagged list", "s:\n  command: /opt/jail\n  args: !!seq [run, --, npx, x]\n", "the list does not begin with a bracket"},
	} {
		f, s := one(t, YAML, c.text, Table{})
		if got, err := f.Apply(Change{Server: s, Drop: 3}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s\n%s", c.name, err, c.want, got)
		}
	}
}

// TestOlder removes the words that earlier versions put in front, to the byte.
func TestOlder(t *testing.T) {
	for _, c := range []struct {
		format                         Format
		command, wrapped, before, path string
	}{
		{JSON, "", `{"s": {"command": "/opt/jail", "args": [ "run", "--", "npx"]}}`, `{"s": {"command": "npx"}}`, ""},
		{JSON, "", `{"s":{"command":"/opt/jail","args":[ "run", "--", "npx"]}}`, `{"s":{"command":"npx"}}`, ""},
		{JSON, "", `{"s":{"command":"/opt/jail","args":["run","--","npx","-y","pkg"]}}`, `{"s":{"command":"npx","args":["-y","pkg"]}}`, ""},
		{JSON, "", `{"s": {"command": "/opt/jail", "args": ["run", "--", "n\u0070x" ]}}`, `{"s": {"command": "n\u0070x", "args": [ ]}}`, ""},
		{JSON, "", "{\"s\": {\n  \"command\": \"/opt/jail\",\n  \"args\": [ \"run\", \"--\", \"npx\"]\n}}", "{\"s\": {\n  \"command\": \"npx\"\n}}", ""},
		{JSON, "", "{\"s\": {\n  \"command\": \"/opt/jail\", // c\n  \"args\": [\n    \"run\", \"--\", \"npx\",\n    \"-y\"\n  ]\n}}", "{\"s\": {\n  \"command\": \"npx\", // c\n  \"args\": [\n    \"-y\"\n  ]\n}}", ""},
		{JSON, "", `{"s": {"command": ["/opt/jail", "run", "--", "npx", "-y"]}}`, `{"s": {"command": ["npx", "-y"]}}`, ""},
		{TOML, "", "[s]\r\ncommand = '/opt/jail' # c\r\nargs = [ \"run\", \"--\", 'npx']\r\nx = 1\r\n", "[s]\r\ncommand = 'npx' # c\r\nx = 1\r\n", ""},
		{TOML, "", "s.command=\"/opt/jail\"\ns.args=[ \"run\", \"--\", 'npx']\n", "s.command='npx'\n", ""},
		{TOML, "", "s = { command = \"/opt/jail\", args = [ \"run\", \"--\", 'npx'] }", "s = { command = 'npx' }", ""},
		{TOML, "", "s = {t.command=\"/opt/jail\",t.args=[ \"run\", \"--\", 'npx'] }", "s = {t.command='npx' }", "t"},
		{YAML, "cmd", "s:\n  cmd: /opt/jail # c\n  args: [ run, \"--\", npx]\n  e: {}\n", "s:\n  cmd: npx # c\n  e: {}\n", ""},
		{YAML, "cmd", "s:\n  cmd: /opt/jail\n  args:\n  - run\n  - \"--\"\n  - npx\n  - -y # c\n", "s:\n  cmd: npx\n  args:\n  - -y # c\n", ""},
		{YAML, "cmd", "s: {cmd: /opt/jail, args: [run, \"--\", npx, -y]}\n", "s: {cmd: npx, args: [-y]}\n", ""},
		{YAML, "", "- command: /opt/jail\n  args: [ run, \"--\", npx]\n  name: s\n", "- command: npx\n  name: s\n", ""},
	} {
		table := Table{Command: c.command}
		if c.path != "" {
			table.Path = []string{"s"}
		}
		f, s := one(t, c.format, c.wrapped, table)
		if got, err := f.Apply(Change{Server: s, Drop: 3}); err != nil || string(got) != c.before {
			t.Errorf("%s\nbecomes %s\nwant    %s\n%v", c.wrapped, got, c.before, err)
		}
	}
}

// one parses a file and returns its server s, or its first one.
func one(t *testing.T, format Format, text string, table Table) (*File, Server) {
	t.Helper()
	f, err := Parse(format, []byte(text))
	testkit.Must(t, err)
	servers := f.Servers(table)
	if len(servers) == 0 {
		t.Fatalf("no servers in %s", text)
	}
	for _, s := range servers {
		if s.Name == "s" {
			return f, s
		}
	}
	return f, servers[0]
}

// TestWhich: of several changes, the error names the one that cannot be made.
func TestWhich(t *testing.T) {
	f, err := Parse(YAML, []byte("- {command: a}\n- {command: b}\n- {command: 'c', name: c}\n- name: d\n  command: d[1],e\n- {command: e}\n"))
	testkit.Must(t, err)
	var changes []Change
	for _, s := range f.Servers(Table{}) {
		changes = append(changes, Change{Server: s, Words: wrapper})
	}
	bad := (*Fault)(nil)
	if got, err := f.Apply(changes...); !errors.As(err, &bad) || got != nil || bad.Server != "d" || bad.Path[0] != "3" {
		t.Errorf("%v\n%s", err, got)
	}
}
