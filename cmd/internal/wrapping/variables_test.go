package wrapping

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// fetched are the lines for which mcp-jail finds, fetches or pins a package outside of the jail, or
// could.
var fetched = []string{"a package of npm", "one by another launcher", "one behind env", "one behind a shell", "one behind cmd", "npx by a shown reference", "a launcher, perhaps", "a word of env, perhaps",
	"a text for a shell", "not taken apart", "a package of Python"}

func splitVariable(text string) (name, value string) {
	if value, odd := strings.CutPrefix(text, "A=B="); odd {
		return "A=B", value
	}
	name, value, _ = strings.Cut(text, "=")
	return name, value
}

// TestVariablesByLine tests each line with each variable in a project's file and in one of the user's:
// an entry is left only if the variable acts on what mcp-jail does outside of the jail for that line.
// What status says is the same, before and after wrap.
func TestVariablesByLine(t *testing.T) {
	// variables says for each assignment in which entries wrap accepts it. "never": in none. "project":
	// not in one of a project. "free": in all. "launcher": in one of a project only if mcp-jail fetches
	// no package for its line.
	variables := testkit.Named[string](t, "variables.txt")
	// entryLines are command lines of entries, by what mcp-jail does outside of the jail to start them.
	entryLines := testkit.Named[string](t, "entry-lines.txt")
	h := newHost(t)
	ours := Program{Path: filepath.Join(h.Home, "bin", "mcp-jail")}
	write(t, ours.Path, "")
	must(t, os.Chmod(ours.Path, 0o755))
	t.Setenv("PATH", filepath.Dir(ours.Path)+":"+os.Getenv("PATH"))
	fill := strings.NewReplacer("REPO", h.Project, "HOME_DIR", h.Home)
	files := map[string]string{"project": filepath.Join(h.Project, ".vscode/mcp.json"), "user": filepath.Join(h.Home, ".config/Code/User/mcp.json")}
	kinds := map[string]string{}
	for variable, kind := range variables {
		kinds[fill.Replace(variable)] = kind
	}
	rows := 0
	for line, words := range entryLines {
		starts := slices.Contains(fetched, line)
		for scope, path := range files {
			if scope == "user" && line != "node" && line != "a package of npm" && line != "a preset's program" {
				continue // its line decides nothing
			}
			var entries []string
			for variable := range variables {
				name, value := splitVariable(variable)
				entries = append(entries, fmt.Sprintf(`%q: {%s, "env": {"%s": "%s"}}`, variable, words, name, value))
			}
			write(t, path, fill.Replace(`{"servers": {`+strings.Join(entries, ", ")+`}}`))
			sel := Selection{Files: []string{path}, Clients: []string{"vscode"}}
			f := only(t, h, sel)
			change := f.Wrap(ours, Selection{}, h, newIDs(h))
			left := map[string]string{}
			for i, e := range f.Entries {
				variable, kind := e.Server, kinds[e.Server]
				left[variable] = change.Servers[i].Left
				want := kind == "never" || scope == "project" && (kind == "project" || kind == "launcher" && starts)
				if (left[variable] != "") != want {
					t.Errorf("%s, %s, %s's file: left %q, want %v", line, variable, scope, left[variable], want)
				}
				if v := f.Judge(e, ours, h); string(v.Why) != left[variable] || v.Jailed || v.Open != (left[variable] != "") {
					t.Errorf("%s, %s, %s's file: left %q, and judged %q", line, variable, scope, left[variable], v.Why)
				}
				rows++
			}
			must(t, errors.Join(WriteFiles(configDir(h), []*Change{change}), os.WriteFile(path, change.After, 0o600)))
			after := only(t, h, sel)
			for _, e := range after.Entries {
				if v := after.Judge(e, ours, h); v.Jailed != (left[e.Server] == "") {
					t.Errorf("%s, %s, %s's file: left %q, and judged after wrap: %q", line, e.Server, scope, left[e.Server], v.Why)
				}
			}
			if again := after.Wrap(ours, Selection{}, h, newIDs(h)); len(again.Changed()) != 0 {
				t.Errorf("%s, %s's file: a second wrap changes it", line, scope)
			}
		}
	}
	if rows != (len(entryLines)+3)*len(variables) {
		t.Errorf("control: %d rows", rows)
	}
}
