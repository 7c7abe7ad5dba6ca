package diagnostics

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/analysis"
)

// TestPrograms: the real words of each known program lead to what its row says, and to nothing where
// the user's home has no such place and no variable is withheld.
func TestPrograms(t *testing.T) {
	names := map[string]bool{}
	for _, row := range analysis.ProgramRows() {
		names[row.Name] = true
		if row.Real == "" {
			continue
		}
		matched := analysis.MatchPrograms(row.Real, "")
		at := slices.IndexFunc(matched, func(m analysis.ProgramRow) bool { return m.Name == row.Name && m.Real == row.Real })
		if at < 0 {
			t.Errorf("%s: %q is not its own", row.Name, row.Real)
			continue
		}
		row = matched[at] // with the name of what is missing
		diagnose := func(places, withheld []string) Diagnosis {
			more := host{}
			for _, place := range places {
				more["/home/u/"+place] = true
			}
			ev := evidence(row.Real)
			ev.Exists = func(path string) bool {
				return path != "/home/u" && more.exists(path) || strings.HasPrefix("/home/u", path)
			}
			ev.Profile.Withheld, ev.Profile.Env = withheld, nil
			return Diagnose(ev)
		}
		targets := func(d Diagnosis) (all []string) {
			for _, h := range d.Hints {
				all = append(all, h.Target)
			}
			return all
		}
		if d := diagnose(nil, nil); row.Says == "" && row.Limit == "" && slices.ContainsFunc(targets(d), func(target string) bool {
			return strings.HasPrefix(target, "/home/u/") || slices.Contains(row.Variables, target)
		}) {
			t.Errorf("%s: %q, without its places: %s", row.Name, row.Real, d.Text())
		}
		switch {
		case row.Says != "":
			if d := diagnose(nil, nil); d.Cause != row.Says || d.Explain != Page(row.Page) || len(d.Words) > 0 {
				t.Errorf("%s: %s", row.Name, d.Text())
			}
		case row.Limit != "":
			if d := diagnose(nil, nil); !slices.Contains(targets(d), row.Limit) || !strings.HasPrefix(strings.Join(d.Words, " "), "--limit "+row.Limit+"=") {
				t.Errorf("%s: %s", row.Name, d.Text())
			}
		default:
			for _, place := range slices.Concat(row.Places, row.Needs) {
				if d := diagnose([]string{place}, nil); !slices.Contains(targets(d), "/home/u/"+place) || d.Attribution != Likely {
					t.Errorf("%s: %q, with %s: %s", row.Name, row.Real, place, d.Text())
				}
			}
			for _, variable := range row.Variables {
				if d := diagnose(nil, []string{variable}); !slices.Contains(targets(d), variable) || d.Attribution != Likely {
					t.Errorf("%s: %q, with %s: %s", row.Name, row.Real, variable, d.Text())
				}
			}
		}
	}
	if len(names) < 40 {
		t.Errorf("%d programs", len(names))
	}
}
