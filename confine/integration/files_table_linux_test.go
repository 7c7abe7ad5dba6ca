package integration

import (
	"embed"
	"fmt"
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

// fileTable has attempts made in trees and jails.
type fileTable struct {
	tree    []string
	profile func(dir string) *policy.Profile
	in      func(testing.TB, *policy.Profile, ...attacker.Attempt) []attacker.Outcome
}

// fileRow is an attempt in DIR, and its outcome in the jail: whole, or the first word if it has one word.
type fileRow struct{ attempt, want string }

// check makes the attempts of a file below testdata. Unconfined each succeeds that is not uncontrolled. In one
// jail, those that are to be refused share a tree, since they change nothing. Each other one has its own.
func (c fileTable) check(t *testing.T, file string) {
	shared := testkit.Plant(t, c.tree...)
	before := jailtest.HostTree(t, shared)
	var free, jailed []attacker.Attempt
	var all []fileRow
	dirs := []string{shared}
	for _, row := range rows(t, file, 3) {
		attempt, want := row[0], row[1]
		if want == "TRUNCATED" {
			want = "EACCES"
			if !refusesTruncating() {
				want = "EROFS" // the mask alone
			}
		}
		if row[2] != "uncontrolled" {
			free = append(free, jailtest.Tries(testkit.Plant(t, c.tree...), attempt)...)
		}
		dir := shared
		if firstWord(want) == attacker.Succeeded {
			dir = testkit.Plant(t, c.tree...)
			dirs = append(dirs, dir)
		}
		all, jailed = append(all, fileRow{attempt, want}), append(jailed, jailtest.Tries(dir, attempt)...)
	}
	for i, got := range jailtest.Unconfined(t, "/", free...) {
		jailtest.Expect(t, fmt.Sprint(free[i], ", unconfined"), firstWord(got), attacker.Succeeded)
	}
	for i, got := range c.in(t, together(dirs, c.profile), jailed...) {
		if !strings.Contains(all[i].want, " ") {
			got = firstWord(got)
		}
		jailtest.Expect(t, all[i].attempt+", in the jail", got, all[i].want)
	}
	testkit.Equal(t, "the host's tree", jailtest.HostTree(t, shared), before)
}

// together returns the profile of one jail that gives each of some trees what a profile for it alone gives.
func together(dirs []string, profile func(dir string) *policy.Profile) *policy.Profile {
	p := profile(dirs[0])
	for _, dir := range dirs[1:] {
		own := profile(dir)
		for _, e := range own.Entries {
			if policy.Within(e.Path, dir) {
				p.Entries = append(p.Entries, e)
			}
		}
		p.IgnoreCase = append(p.IgnoreCase, own.IgnoreCase...)
	}
	jailtest.SortEntries(p)
	return p
}

func firstWord(o attacker.Outcome) attacker.Outcome {
	first, _, _ := strings.Cut(o, " ")
	return first
}
