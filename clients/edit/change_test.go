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
	for _, c := range testkit.Table[struct{ name, text, want string }](t, "remove-refused.txt") {
		f, s := one(t, YAML, c.text, Table{})
		if got, err := f.Apply(Change{Server: s, Drop: 3}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s\n%s", c.name, err, c.want, got)
		}
	}
}

// TestOlder removes the words that earlier versions put in front, to the byte.
func TestOlder(t *testing.T) {
	for _, row := range testkit.Rows(t, "older.txt", 5) {
		format, command, wrapped, before, path := FormatOf("x."+row[0]), row[1], row[2], row[3], row[4]
		table := Table{Command: command}
		if path != "" {
			table.Path = []string{"s"}
		}
		f, s := one(t, format, wrapped, table)
		if got, err := f.Apply(Change{Server: s, Drop: 3}); err != nil || string(got) != before {
			t.Errorf("%s\nbecomes %s\nwant    %s\n%v", wrapped, got, before, err)
		}
	}
}

// one parses a file and returns its server s, or its first one.
func one(t *testing.T, format Format, text string, table Table) (*File, Server) {
	t.Helper()
	f := testkit.Get(Parse(format, []byte(text)))(t)
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
