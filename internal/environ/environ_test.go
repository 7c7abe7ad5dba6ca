package environ_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/environ"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/presets"
)

// TestMaySet tests four kinds of variables: those that move mcp-jail's own files, which no entry may
// set; those that act on every start, which a project's entry may not set; those that act on packages
// that mcp-jail fetches, and on presets; and those that only a server reads.
func TestMaySet(t *testing.T) {
	for _, c := range testkit.Table[struct {
		names                 string
		user, direct, project bool
	}](t, "setters.txt") {
		names := strings.Fields(c.names)
		if !c.user {
			names = append(names, "", "HTTPS_PROXY ", "A\n")
		}
		for _, name := range names {
			user, direct, project := environ.MaySet(name, environ.User), environ.MaySet(name, environ.Direct), environ.MaySet(name, environ.Project)
			if user != c.user || direct != c.direct || project != c.project {
				t.Errorf("%s: the user's entry may set it: %v, a project's without a launcher: %v, a project's: %v; want %v, %v, %v", name, user, direct, project, c.user, c.direct, c.project)
			}
		}
	}
}

// TestBuild: a program gets the variables of its reader once each, the last value of each, and what
// is set for it in place of the user's.
func TestBuild(t *testing.T) {
	all := []string{"HOME=/a", "HOME=/h", "npm_config_registry=r", "NPM_TOKEN=t", "PIP_INDEX_URL=p", "SSL_CERT_FILE=c", "LD_PRELOAD=l", "NODE_OPTIONS=o", "OTHER=x", "=y", "z"}
	for _, c := range []struct {
		reader environ.Reader
		set    []string
		want   string
	}{
		{environ.Secret, nil, "HOME=/h SSL_CERT_FILE=c"},
		{environ.Secret, []string{"SSL_CERT_FILE=s", "PATH=/p"}, "HOME=/h SSL_CERT_FILE=s PATH=/p"},
	} {
		if got := strings.Join(environ.Build(c.reader, all, c.set...), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.reader, got, c.want)
		}
	}
}

var readers = []environ.Reader{environ.Loader, environ.Secret, environ.Presets, "mcp-jail", "the lock file's keys", "wrap and status", "servers with granted hosts", "none"}

// TestRows: each name is written as it is compared, once, and no program gets what loads code.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range environ.Rows() {
		for _, name := range row.Names {
			if name != strings.ToUpper(strings.ReplaceAll(name, "-", "_")) || strings.Count(name, "*") > 1 || seen[name] {
				t.Errorf("%s: another spelling of a name, or there twice", name)
			}
			seen[name] = true
			if got, _ := environ.Find(strings.ReplaceAll(name, "*", "X")); !slices.Equal(got.Names, row.Names) {
				t.Errorf("%s is found in the row of %s", name, got.Names[0])
			}
		}
		if row.Reads(environ.Loader) && (row.May == environ.Nobody || row.May == environ.Project) && len(row.Readers) > 1 {
			t.Errorf("a program gets %s", row.Names)
		}
		if row.For == "" || strings.Contains(row.For, "|") || !slices.Contains([]environ.Setter{environ.Nobody, environ.User, environ.Direct, environ.Project}, row.May) {
			t.Errorf("%s: no purpose, or nobody is known who may set it", row.Names)
		}
		for _, r := range row.Readers {
			if !slices.Contains(readers, r) {
				t.Errorf("%s: there is no reader %s", row.Names, r)
			}
		}
	}
}

// TestPresets: each variable that a preset reads is in a row of presets. A project's own server may
// have it. A project may not set it for a server of the user's configuration.
func TestPresets(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range presets.Names() {
		p, err := presets.Find(name)
		testkit.Must(t, err)
		for _, v := range p.Variables {
			seen[v.Name] = true
			row, _ := environ.Find(v.Name)
			if !row.Reads(environ.Presets) || !environ.Steers(v.Name) || !environ.MaySet(v.Name, environ.Project) {
				t.Errorf("preset %s: the table of presets lacks %s", name, v.Name)
			}
		}
	}
	if len(seen) < 180 || !seen["GRAFANA_URL"] || environ.Steers("NODE_ENV") {
		t.Errorf("control: %d variables", len(seen))
	}
	for _, row := range environ.Rows() {
		for _, pattern := range row.Names {
			used := len(row.Readers) > 1 || !row.Reads(environ.Presets)
			for name := range seen {
				begin, end, wild := strings.Cut(pattern, "*")
				used = used || name == pattern || wild && strings.HasPrefix(name, begin) && strings.HasSuffix(name, end)
			}
			if !used {
				t.Errorf("no preset reads %s", pattern)
			}
		}
	}
}
