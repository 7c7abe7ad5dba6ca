package locate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
)

// TestAway: what a project has at places that lead to another machine is found without a look at it, and is
// then refused by name. What the user has there is looked at.
func TestAway(t *testing.T) {
	away := errors.New("it leads away")
	project := t.TempDir()
	for _, name := range []string{"near/a.json", "many/b.json", "many/far.json", "deep/one/c.json", "deep/far/d.json"} {
		path := filepath.Join(project, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("word"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	host := clients.Host{OS: "linux", Project: project, Env: os.Getenv, Away: func(_, path string) error {
		if strings.Contains(path, "far") {
			return away
		}
		return nil
	}}
	for pattern, want := range map[string][]string{
		"near/a.json": {"near/a.json"}, "near/none.json": nil,
		"far/none.json": {"far/none.json"}, "far/*.json": {"far"}, "far/**/*.json": {"far"}, // a look would find nothing there
		"many/*.json": {"many/b.json", "many/far.json"}, "deep/*/d.json": {"deep/far"}, "deep/**/*.json": {"deep/far", "deep/one/c.json"},
	} {
		p := clients.Place{Scope: clients.Project, Linux: pattern}
		var found []string
		for _, path := range Existing(p, host) {
			rest, err := filepath.Rel(project, path)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, filepath.ToSlash(rest))
			far := strings.Contains(path, "far")
			if _, err := Read(path, p, host); errors.Is(err, away) != far {
				t.Errorf("%s: Read: %v", path, err)
			}
			if _, err := Real(path, p, host); errors.Is(err, away) != far {
				t.Errorf("%s: Real: %v", path, err)
			}
			if mine := p; far {
				mine.Scope = clients.User
				if _, err := Real(path, mine, host); errors.Is(err, away) {
					t.Errorf("%s of the user: %v", path, err)
				}
			}
		}
		slices.Sort(found)
		if found = slices.Compact(found); !slices.Equal(found, want) {
			t.Errorf("%s: found %q, want %q", pattern, found, want)
		}
	}
	// A plugin's folder is one of the user's that others fill.
	brought := clients.Place{Scope: clients.User, Linux: "~/deep/**/*.json", Brought: true}
	mine := clients.Host{OS: "linux", Home: project, Away: host.Away}
	if found := Existing(brought, mine); !slices.Equal(found, []string{filepath.Join(project, "deep/far"), filepath.Join(project, "deep/one/c.json")}) {
		t.Errorf("in a plugin's folder: %q", found)
	}
	if brought.Brought = false; !slices.Contains(Existing(brought, mine), filepath.Join(project, "deep/far/d.json")) {
		t.Error("in the user's own folder a file is not found")
	}
	blind := clients.Client{Blind: []clients.Blind{{Place: clients.Place{Scope: clients.Project, Linux: "far/none.md"}, Word: "word", Why: "it is not read"}}}
	if all := Unread(host, []clients.Client{blind}, nil); len(all) != 1 {
		t.Errorf("a file that may have the word: %v", all)
	}
}
