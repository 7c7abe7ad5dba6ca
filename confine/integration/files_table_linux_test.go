package integration

import (
	"embed"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// tables are the files of the rows of tests. Tests start this binary again in other directories.
//
//go:embed testdata/*.txt
var tables embed.FS

func rows(t testing.TB, file string, columns int) [][]string {
	t.Helper()
	return testkit.RowsIn(t, tables, file, columns)
}

// fileTable has attempts made, each in a tree and a jail of its own.
type fileTable struct {
	tree    []string
	profile func(dir string) *policy.Profile
	in      func(testing.TB, *policy.Profile, ...attacker.Attempt) []attacker.Outcome
}

// check makes the attempts of a file below testdata. Each row is an attempt in DIR, and its outcome in the
// jail: whole, or the first word if the row has one word. Unconfined it succeeds, if it is not
// uncontrolled. One that is refused leaves the host's tree as it was.
func (c fileTable) check(t *testing.T, file string) {
	for _, row := range rows(t, file, 3) {
		attempt, want := row[0], row[1]
		if want == "TRUNCATED" {
			want = "EACCES"
			if !refusesTruncating() {
				want = "EROFS" // the mask alone
			}
		}
		t.Run(attempt, func(t *testing.T) {
			t.Parallel()
			in := func(dir string) attacker.Attempt { return jailtest.Tries(dir, attempt)[0] }
			if row[2] != "uncontrolled" {
				free := testkit.Plant(t, c.tree...)
				got, _, _ := strings.Cut(jailtest.Unconfined(t, free, in(free))[0], " ")
				jailtest.Expect(t, "unconfined", got, attacker.Succeeded)
			}
			dir := testkit.Plant(t, c.tree...)
			before := jailtest.HostTree(t, dir)
			got := c.in(t, c.profile(dir), in(dir))[0]
			first, _, _ := strings.Cut(got, " ")
			if !strings.Contains(want, " ") {
				got = first
			}
			jailtest.Expect(t, "in the jail", got, want)
			if after := jailtest.HostTree(t, dir); first != attacker.Succeeded && after != before {
				t.Errorf("the host's tree has changed:\n%s\nto\n%s", before, after)
			}
		})
	}
}
