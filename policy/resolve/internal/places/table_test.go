package places

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestTable: each row of builtin.txt has the form of its kind and is there once, and none of those that decide lies in
// another.
func TestTable(t *testing.T) {
	kinds := map[string]bool{}
	for _, g := range groups() {
		kinds[g.kind] = true
		for i, row := range g.rows {
			ofHome := strings.HasPrefix(row, "~/") || strings.HasPrefix(row, "**/") && g.kind == "sensitive"
			absolute := row[0] == '/' && (len(g.systems) > 0 || g.kind == "of root" || g.kind == "of others")
			name := slices.Contains([]string{"home of windows", "sample", "of any user", "moved", "key name", "raising", "commands", "prefix programs", "prefix data", "shared", "git command", "git path", "git hook", "git kept"}, g.kind)
			if !ofHome && !absolute && !name || strings.TrimSpace(row) != row || slices.Contains(g.rows[i+1:], row) {
				t.Errorf("%s: %q", g.kind, row)
			}
		}
	}
	if len(kinds) != 26 {
		t.Errorf("%d kinds: %v", len(kinds), kinds)
	}
	var all []string
	for _, g := range groupsOf("linux", deciding, programs, packages) {
		all = append(all, g.rows...)
	}
	for i, p := range all {
		if j := slices.IndexFunc(all, func(o string) bool { return policy.Within(p, o) }); j != i {
			t.Errorf("%s lies in %s", p, all[j])
		}
	}
}

// TestLogins: a place in which diagnoses know the login of a program is hidden, or decides what programs do.
func TestLogins(t *testing.T) {
	t.Parallel()
	text := testkit.Get(os.ReadFile("../../../../diagnostics/internal/analysis/programs.toml"))(t)
	known, logins := groupsOf("linux", "sensitive", deciding, programs), 0
	for _, list := range regexp.MustCompile(`(?m)^login = \[(.*)\]$`).FindAllSubmatch(text, -1) {
		for _, login := range regexp.MustCompile(`"([^"]+)"`).FindAllSubmatch(list[1], -1) {
			place := "~/" + string(login[1])
			logins++
			if !strings.Contains(place, "NAME") && !slices.ContainsFunc(known, func(g group) bool {
				return slices.ContainsFunc(g.rows, func(row string) bool {
					stem, starred := strings.CutSuffix(row, "*")
					return policy.Within(place, row) || starred && strings.HasPrefix(place, stem)
				})
			}) {
				t.Errorf("%s is in no list", place)
			}
		}
	}
	if logins < 20 {
		t.Errorf("%d logins", logins)
	}
}
