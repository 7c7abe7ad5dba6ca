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
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
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
		filepath.Join(h.Project, ".claude", "settings.json"): "the entry sets HTTPS_PROXY, which acts on mcp-jail itself, outside the jail",
	} {
		write(t, settings, `{"env": {"HTTPS_PROXY": "http://p"}}`)
		if got := started(t, h, path, nil, nil); got != want {
			t.Errorf("%s: %s, want %s", settings, got, want)
		}
		must(t, os.Remove(settings))
	}
	path = filepath.Join(h.Project, ".vscode", "mcp.json")
	write(t, path, `{"servers": {"s": {"command": "x", "envFile": "${workspaceFolder}/plain"}}}`)
	write(t, filepath.Join(h.Home, "plain"), "A=user\n")
	plain := filepath.Join(h.Project, "plain")
	write(t, plain, "A=project\n")
	if got, want := started(t, h, path, nil, nil), `x in PROJECT root PROJECT A="project"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	must(t, errors.Join(os.Remove(plain), os.Symlink(filepath.Join(h.Home, "plain"), plain)))
	if got, want := started(t, h, path, nil, nil), "x in PROJECT root PROJECT note"; got != want {
		t.Errorf("a link to a file of the user's: %s, want %s", got, want)
	}
}

// TestEnvFile tests which names a file of variables has. TestEnvFileJudged tests what becomes of it.
func TestEnvFile(t *testing.T) {
	// envFiles are files of variables. A file that begins with "line" in want is one that clients read in
	// different ways. In the others, a client finds the names of want, and those alone.
	envFiles := testkit.Named[struct{ text, want string }](t, "env-files.txt")
	for name, c := range envFiles {
		names, err := meaning.DotenvNames(c.text, true)
		if strings.HasPrefix(c.want, "line ") {
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		} else if got := strings.Join(names, " "); got != c.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
	if names, _ := meaning.DotenvNames("A.B=1\n", false); len(names) != 1 {
		t.Errorf("the user's own file: %q", names)
	}
}

// TestEnvFileJudged: an entry of a project's file with a file that clients read in different ways is
// left, and unclear if it starts in mcp-jail. The reason names the line.
func TestEnvFileJudged(t *testing.T) {
	for _, c := range []struct{ place, table string }{{".vscode/mcp.json", "servers"}, {".mcp.json", "mcpServers"}} { // the second is Claude Code's, which reads no such file, and VS Code's
		h := newHost(t)
		ours := Program{Path: program}
		write(t, filepath.Join(h.Project, c.place), `{"`+c.table+`": {"a": {"command": "`+ours.Path+`", "args": ["run", "--", "x"], "envFile": "${workspaceFolder}/v.env"}, "b": {"command": "x", "envFile": "${workspaceFolder}/v.env"}}}`)
		for text, want := range map[string]string{"A=1\n": "", "A=1\n\ufeffHTTPS_PROXY=x\n": "v.env, line 2: U+FEFF", "A=1\nHTTPS_PROXY=x\n": "HTTPS_PROXY"} {
			write(t, filepath.Join(h.Project, "v.env"), text)
			f := only(t, h, Selection{})
			v, p := f.Judge(f.Entries[0], ours, h), f.Wrap(ours, Selection{}, h, newIDs(h)).Servers
			if v.State == Jailed != (want == "") || !strings.Contains(string(v.Why), want) {
				t.Errorf("%s, %q: judged %q, want %q", c.place, text, v.Why, want)
			}
			if p[0].Left == "" || v.State != Jailed && p[0].Left != string(v.Why) || (p[1].Left == "") != (want == "") || !strings.Contains(p[1].Left, want) {
				t.Errorf("%s, %q: left %q and %q, want %q", c.place, text, p[0].Left, p[1].Left, want)
			}
			if v.State == Jailed && p[0].Left != string(clients.Jailed) {
				t.Errorf("%s, %q: left %q", c.place, text, p[0].Left)
			}
		}
	}
}

// TestEnvFileOfWhom: files such as .env.local are read for an entry of the user, and for one of a
// project if they are in its repository, without a link out of it. Other sensitive files are not.
func TestEnvFileOfWhom(t *testing.T) {
	h := newHost(t)
	for _, path := range []string{"project/.env", "project/.env.local", "project/dev/.env.production", "home/other/.env", "home/other/.env.local", "home/.aws/credentials", "home/.ssh/.env.local", "home/plain.txt"} {
		write(t, filepath.Join(filepath.Dir(h.Home), path), "OTHER_SECRET=x\n")
	}
	for link, to := range map[string]string{".env.staging": ".env", "dev/.env.link": h.Home + "/other/.env.local", ".env.aws": h.Home + "/.aws/credentials", "plain.link": h.Home + "/plain.txt"} {
		must(t, os.Symlink(to, filepath.Join(h.Project, link)))
	}
	must(t, os.Symlink(filepath.Join(h.Project, ".env"), filepath.Join(h.Home, ".env.link")))
	for file, want := range testkit.Named[[2]string](t, "env-files-of-whom.txt") {
		for i, path := range []string{filepath.Join(h.Project, ".vscode/mcp.json"), filepath.Join(h.Home, ".config/Code/User/mcp.json")} {
			write(t, path, `{"servers": {"a": {"command": "x", "envFile": "`+strings.NewReplacer("PROJECT", h.Project, "HOME", h.Home).Replace(file)+`"}}}`)
			f := only(t, h, Selection{Clients: []string{"vscode"}, Files: []string{path}})
			p, v := f.Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0], f.Judge(f.Entries[0], Program{Path: program}, h)
			got := "none"
			switch {
			case p.Left != "":
				got = "left"
			case slices.Contains(p.Flags, "OTHER_SECRET"):
				got = "given"
			}
			what := file + " in a file of the " + string(f.Place.Scope)
			testkit.Equal(t, what, got, want[i])
			testkit.Equal(t, what+", as judged", string(v.Why), p.Left)
		}
	}
}

// TestEnvFileInHome: where the home directory is the project, what is sensitive for another reason than
// its name stays so, also by a link.
func TestEnvFileInHome(t *testing.T) {
	h := newHost(t)
	for _, path := range []string{".env", ".aws/credentials"} {
		write(t, filepath.Join(h.Home, path), "OTHER_SECRET=x\n")
	}
	must(t, os.Symlink(".aws/credentials", filepath.Join(h.Home, ".env.aws")))
	write(t, filepath.Join(h.Project, ".vscode/mcp.json"), `{"servers": {"a": {"command": "x", "envFile": ".env"}}}`)
	e := only(t, h, Selection{}).Entries[0]
	h.Project = h.Home
	for name, want := range map[string]bool{".env": true, ".env.aws": false, ".aws/credentials": false} {
		if why := e.whyUnreadable(filepath.Join(h.Home, name), h); (why == "") != want {
			t.Errorf("%s: %q, want %v", name, why, want)
		}
	}
}
