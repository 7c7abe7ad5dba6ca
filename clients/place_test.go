package clients

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestLocate tests where files are, on each system and with each variable.
func TestLocate(t *testing.T) {
	hosts := map[string]Host{
		"linux":                   {OS: "linux", Home: "/home/me", Project: "/home/me/app"},
		"linux without a project": {OS: "linux", Home: "/home/me"},
		"nowhere":                 {OS: "linux"},
		"freebsd":                 {OS: "freebsd", Home: "/home/me"},
		"mac":                     {OS: "darwin", Home: "/Users/me", Project: "/Users/me/app"},
		"windows":                 {OS: "windows", Home: `C:\Users\me`, Project: `D:\app`},
	}
	for _, row := range testkit.Rows(t, "places.txt", 6) {
		clientName, scope, written, variable, want := row[0], row[1], row[2], row[4], row[5]
		host := hosts[row[3]]
		client := testkit.Get(ByName(clientName))(t)
		i := slices.IndexFunc(client.Places, func(p Place) bool {
			return string(p.Scope) == scope && (written == "" || p.Linux == written || p.Windows == written)
		})
		if i < 0 {
			t.Errorf("%s has no place %s %q", clientName, scope, written)
			continue
		}
		name, value, _ := strings.Cut(variable, "=")
		if variable != "" {
			host.Env = func(asked string) string {
				if asked == name {
					return value
				}
				return ""
			}
		}
		location, ok := client.Places[i].Locate(host)
		got := location.File
		if location.Pattern != "" {
			got += location.Dir + " " + location.Pattern
		}
		if got != want || ok != (want != "") {
			t.Errorf("%s %s %q on %s with %q: %q %v, want %q", clientName, scope, written, host.OS, variable, got, ok, want)
		}
	}
}

// TestAbove tests in which directories a file of a project is looked for.
func TestAbove(t *testing.T) {
	h := Host{OS: "linux", Home: "/home/me", Project: "/src/repo/a/b", Above: []string{"/src/repo/a", "/src/repo", "/src", "/"}, Repo: 2}
	files := func(p Place) (all []string) {
		for _, at := range p.LocateAll(h) {
			all = append(all, at.File)
		}
		return all
	}
	p := everywhere(Project, ".x", JSON, nil)
	for reach, want := range map[reach][]string{
		inProject: {"/src/repo/a/b/.x"}, inRepository: {"/src/repo/a/b/.x", "/src/repo/a/.x", "/src/repo/.x"},
		inAll: {"/src/repo/a/b/.x", "/src/repo/a/.x", "/src/repo/.x", "/src/.x", "/.x"},
	} {
		testkit.Equal(t, reach, files(above(p, reach)), want)
	}
	testkit.Equal(t, "of the user", files(above(everywhere(User, "~/.x", JSON, nil), inAll)), []string{"/home/me/.x"})
	if h.Repo = -1; len(files(above(p, inRepository))) != 5 {
		t.Errorf("without a repository: %q", files(above(p, inRepository)))
	}
	h.Repo = 2
	for file, want := range map[string]string{"/src/repo/.mcp.json": "claude-code", "/src/.mcp.json": "claude-code", "/src/repo/a/.codex/config.toml": "codex"} {
		var readers []string
		EachReader(file, h, func(c Client, _ Place) { readers = append(readers, c.Name) })
		testkit.Equal(t, fmt.Sprintf("%s is read by", file), readers, []string{want})
	}
}

// TestProjectFilesAreProtected: a server in a jail cannot write the files in which clients look
// for servers in a project (docs/policy.md "Protected names").
func TestProjectFilesAreProtected(t *testing.T) {
	for _, c := range All() {
		places := slices.Clone(c.Places)
		for _, s := range c.Shared {
			if s.Path != nil { // files .env are hidden
				places = append(places, s.Place)
			}
		}
		for _, p := range places {
			loc, ok := p.Locate(Host{OS: "linux", Home: "/home/u", Project: "/src/project"})
			if !ok || p.Scope != Project {
				continue
			}
			file := loc.File
			if file == "" {
				file = loc.Dir + "/" + loc.Pattern
			}
			if !policy.HasProtectedName(file) {
				t.Errorf("%s of %s can be written from a jail", file, c.Name)
			}
		}
	}
}
