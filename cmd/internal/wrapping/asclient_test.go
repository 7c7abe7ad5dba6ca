package wrapping

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
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
	for _, c := range []struct{ name, place, table, entry, want string }{
		{"plain", ".claude.json", "mcpServers", `{"command":"x","args":["a b"],"env":{"A":"1"}}`, `x a b in PROJECT root  A="1"`},
		{"a value of the environment", ".claude.json", "mcpServers", `{"command":"x","args":["${SET}","${UNSET:-d}"],"env":{"A":"<${SET}${SET}>"}}`, `x v${SET} d in PROJECT root  A="<v${SET}v${SET}>"`},
		{"not set, for a variable", ".claude.json", "mcpServers", `{"command":"x","env":{"A":"${UNSET}","B":"1"}}`, `x in PROJECT root  B="1" note`},
		{"not set, for a word", ".claude.json", "mcpServers", `{"command":"x","args":["/${UNSET}"]}`, `the entry has /${UNSET}, which is not set here`},
		{"given for one that is not set", ".claude.json", "mcpServers", `{"command":"x","args":["${GIVEN}"]}`, `x w in PROJECT root `},
		{"as it is", ".claude.json", "mcpServers", `{"command":"x","env":{"SET":"${SET}"}}`, `x in PROJECT root `},
		{"no directory is known", ".config/Claude/claude_desktop_config.json", "mcpServers", `{"command":"x"}`, `x in  root `},
		{"in a project", "PROJECT/.cursor/mcp.json", "mcpServers", `{"command":"x","args":["${workspaceFolder}/a","${userHome}"]}`, `x PROJECT/a HOME in PROJECT root PROJECT`},
		{"the folder of the user's own file", ".config/Code/User/mcp.json", "servers", `{"command":"~/x","args":["${workspaceFolder}","~/y"],"cwd":"${userHome}/d"}`, `HOME/x PROJECT HOME/y in HOME/d root `},
		{"a relative directory", "PROJECT/.vscode/mcp.json", "servers", `{"command":"x","cwd":"sub"}`, `x in PROJECT/sub root PROJECT`},
		{"an input", ".config/Code/User/mcp.json", "servers", `{"command":"x","args":["${input:GIVEN}"],"env":{"T":"${input:GIVEN}"}}`, `x w in PROJECT root  T="w"`},
		{"an input that is asked for", ".config/Code/User/mcp.json", "servers", `{"command":"x","env":{"T":"${input:other}"}}`, `asks for ${input:other}`},
		{"a command is not run", ".config/Code/User/mcp.json", "servers", `{"command":"x","env":{"T":"${command:touch}"}}`, `asks for ${command:touch}`},
		{"a variable is taken away", ".config/Code/User/mcp.json", "servers", `{"command":"x","env":{"SET":null}}`, `x in PROJECT root  SET="" unset`},
		{"a file of variables, below the entry's own", ".config/Code/User/mcp.json", "servers", `{"command":"x","envFile":"${userHome}/v.env","env":{"B":"entry"}}`,
			`x in PROJECT root  A="1" B="two words" C="a\nb" D="q\"q" E="" F="7" B="entry"`},
		{"a file of the user's takes no variables out of a project", ".config/Code/User/mcp.json", "servers", `{"command":"x","envFile":"${workspaceFolder}/v.env"}`, `x in PROJECT root  note`},
		{"a file of variables that is missing", ".config/Code/User/mcp.json", "servers", `{"command":"x","envFile":"/nowhere/v.env"}`, `x in PROJECT root  note`},
		{"a relative file of variables", "PROJECT/.vscode/mcp.json", "servers", `{"command":"x","envFile":"v.env"}`, `x in PROJECT root PROJECT A="planted"`},
		{"a file of variables with a key", ".config/Code/User/mcp.json", "servers", `{"command":"x","envFile":"${userHome}/k.env"}`, `x in PROJECT root  note`},
		{"a file of variables that clients read in different ways", "PROJECT/.vscode/mcp.json", "servers", `{"command":"x","envFile":"odd.env"}`, `x in PROJECT root PROJECT`},
		{"~/ for a client that does not replace it", ".claude.json", "mcpServers", `{"command":"x","args":["~/y"]}`, `x ~/y in PROJECT root `},
		{"~/ beside a variable", ".config/Code/User/mcp.json", "servers", `{"command":"x","args":["~/${workspaceFolder}"]}`, `x ~/PROJECT in PROJECT root `},
		{"what acts on mcp-jail", "PROJECT/.cursor/mcp.json", "mcpServers", `{"command":"x","env":{"XDG_CONFIG_HOME":"/evil"}}`, `the entry sets XDG_CONFIG_HOME, which acts on mcp-jail itself, outside of the jail`},
	} {
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
