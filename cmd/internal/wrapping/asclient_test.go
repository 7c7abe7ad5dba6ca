package wrapping

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// started returns how the client of a file starts its only entry, in one line: its words, then the
// directory, the variables, and the number of notes.
func started(t *testing.T, h clients.Host, path string, env map[string]string, inputs map[string]string) string {
	t.Helper()
	h.Env = func(name string) string { return env[name] }
	f := only(t, h, Selection{Files: []string{path}})
	if len(f.Entries) != 1 {
		t.Fatalf("%s: %d entries, %v", path, len(f.Entries), f.Err)
	}
	e := f.Entries[0]
	s, err := e.AsClient(e.Argv(), h, func(r clients.Reference) (string, error) {
		if value, ok := inputs[r.Name]; ok {
			return value, nil
		}
		return "", &UnknownValueError{r}
	})
	var unknown *UnknownValueError
	if errors.As(err, &unknown) {
		return "asks for " + unknown.Text
	}
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("%s in %s root %s", strings.Join(s.Argv, " "), s.Dir, s.Root)
	for _, v := range s.Env {
		text += fmt.Sprintf(" %s=%q", v.Name, v.Value)
		if v.Unset {
			text += " unset"
		}
	}
	for range s.Notes {
		text += " note"
	}
	return strings.NewReplacer(h.Project, "PROJECT", h.Home, "HOME").Replace(text)
}

// TestAsClient tests how clients start the server of an entry: what replaces their variables, where it
// starts, and which variables it gets.
func TestAsClient(t *testing.T) {
	for _, c := range testkit.Table[struct{ name, place, table, entry, want string }](t, "as-client.txt") {
		h := newHost(t)
		path := filepath.Join(h.Home, c.place)
		if below, ok := strings.CutPrefix(c.place, "PROJECT/"); ok {
			path = filepath.Join(h.Project, below)
		}
		write(t, path, fmt.Sprintf(`{"%s": {"s": %s}}`, c.table, c.entry))
		variables := "# comment\nexport A=1 # one\nB = 'two words'\nC=\"a\\nb\"\nD=`q\"q`\nE=\nF: 7\n"
		write(t, filepath.Join(h.Home, "v.env"), variables)
		write(t, filepath.Join(h.Project, "v.env"), "A=planted\n")
		write(t, filepath.Join(h.Project, "odd.env"), "A=planted\n\ufeffHTTPS_PROXY=x\n")
		write(t, filepath.Join(h.Home, "k.env"), "A=1\n#-----BEGIN\n")
		got := started(t, h, path, map[string]string{"SET": "v${SET}", "HOME": h.Home}, map[string]string{"GIVEN": "w"})
		if got != c.want {
			t.Errorf("%s:\n%s\n%s", c.name, got, c.want)
		}
	}
}

// TestAsClientShared: the variables that a client gives to all of its servers come below those of the
// entry.
func TestAsClientShared(t *testing.T) {
	h := newHost(t)
	path := filepath.Join(h.Home, ".claude.json")
	write(t, path, `{"mcpServers": {"s": {"command": "x", "env": {"B": "entry"}}}}`)
	write(t, filepath.Join(h.Home, ".claude", "settings.json"), `{"env": {"A": "shared", "B": "shared", "N": 7}}`)
	if got, want := started(t, h, path, nil, nil), `x in PROJECT root  A="shared" B="shared" B="entry"`; got != want {
		t.Errorf("%s\n%s", got, want)
	}
}

// TestAsClientOfProject: an entry for a project starts there, and neither it nor a file of the project
// with variables for all servers may set what an entry of the user's may.
func TestAsClientOfProject(t *testing.T) {
	h := newHost(t)
	path := filepath.Join(h.Home, ".claude.json")
	other := filepath.Join(h.Home, "other")
	write(t, filepath.Join(other, "x"), "")
	write(t, path, `{"projects": {"`+other+`": {"mcpServers": {"s": {"command": "x", "args": ["${SET}"]}}}}}`)
	if got, want := started(t, h, path, map[string]string{"SET": "v"}, nil), "x v in HOME/other root HOME/other"; got != want {
		t.Errorf("%s\n%s", got, want)
	}
	write(t, path, `{"mcpServers": {"s": {"command": "x"}}}`)
	for settings, want := range map[string]string{
		filepath.Join(h.Home, ".claude", "settings.json"):    `x in PROJECT root  HTTPS_PROXY="http://p"`,
		filepath.Join(h.Project, ".claude", "settings.json"): "the entry sets HTTPS_PROXY, which acts on mcp-jail itself, outside of the jail",
	} {
		write(t, settings, `{"env": {"HTTPS_PROXY": "http://p"}}`)
		if got := started(t, h, path, nil, nil); got != want {
			t.Errorf("%s: %s, want %s", settings, got, want)
		}
		must(t, os.Remove(settings))
	}
}

// TestSwitchOn: an entry that is switched off is judged as if it were not, and keeps every other reason
// for which wrap leaves an entry.
func TestSwitchOn(t *testing.T) {
	h := newHost(t)
	path := filepath.Join(h.Home, ".kiro", "settings", "mcp.json")
	write(t, path, `{"mcpServers": {
		"off": {"command": "x", "args": ["a"], "disabled": true},
		"both": {"command": "docker", "args": ["run", "y"], "disabled": true},
		"remote": {"url": "https://a.example", "disabled": true},
		"on": {"command": "x", "disabled": false}}}`)
	f := only(t, h, Selection{Files: []string{path}})
	before := f.Wrap(Program{Path: "/bin/mcp-jail"}, Selection{}, h, newIDs(h)).Servers
	SwitchOn(f)
	after := f.Wrap(Program{Path: "/bin/mcp-jail"}, Selection{}, h, newIDs(h)).Servers
	for i, want := range []struct {
		wraps, off bool
		left       string
	}{{true, true, ""}, {false, true, "starts a container, which Docker or Podman runs and mcp-jail cannot confine"}, {false, true, string(clients.Remote)}, {true, false, ""}} {
		if before[i].Disabled != want.off || want.off && before[i].Left == "" {
			t.Errorf("%s before: %v %q", before[i].Server, before[i].Disabled, before[i].Left)
		}
		if s := after[i]; (s.Left == "") != want.wraps || s.Left != want.left || s.Disabled != want.off || want.wraps && !slices.Contains(s.After, "x") {
			t.Errorf("%s after: %v %q %q", s.Server, s.Disabled, s.Left, s.After)
		}
	}
}

// TestInputOf tests what a file says of a value that its client asks for.
func TestInputOf(t *testing.T) {
	h := newHost(t)
	path := filepath.Join(h.Home, ".config", "Code", "User", "mcp.json")
	write(t, path, `{"inputs": [7, {"id": "a", "type": "promptString", "description": "Key", "password": true}, {"id": "b", "default": "x", "options": ["x", 1, "y"]}], "servers": {"s": {"command": "x"}}}`)
	f := only(t, h, Selection{Files: []string{path}})
	for id, want := range map[string]string{"a": "{Key  [] true}", "b": "{ x [x y] false}", "c": "{  [] true}"} {
		if got := fmt.Sprint(InputOf(f, id)); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}
