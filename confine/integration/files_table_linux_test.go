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

// check makes the attempts of a file below testdata. Unconfined each succeeds that is not uncontrolled. Those
// that are to be refused share a tree and a jail, since they change nothing. Each other one has its own.
func (c fileTable) check(t *testing.T, file string) {
	var refused, allowed []fileRow
	var free []attacker.Attempt
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
		if firstWord(want) == attacker.Succeeded {
			allowed = append(allowed, fileRow{attempt, want})
		} else {
			refused = append(refused, fileRow{attempt, want})
		}
	}
	for i, got := range jailtest.Unconfined(t, "/", free...) {
		jailtest.Expect(t, fmt.Sprint(free[i], ", unconfined"), firstWord(got), attacker.Succeeded)
	}
	c.together(t, refused...)
	for _, row := range allowed {
		t.Run(row.attempt, func(t *testing.T) {
			t.Parallel()
			c.together(t, row)
		})
	}
}

// together makes the attempts of rows in one tree and one jail. If all are refused, the host's tree is as it was.
func (c fileTable) together(t *testing.T, rows ...fileRow) {
	t.Helper()
	dir := testkit.Plant(t, c.tree...)
	before := jailtest.HostTree(t, dir)
	var attempts []attacker.Attempt
	for _, row := range rows {
		attempts = append(attempts, jailtest.Tries(dir, row.attempt)...)
	}
	some := false
	for i, got := range c.in(t, c.profile(dir), attempts...) {
		some = some || firstWord(got) == attacker.Succeeded
		if !strings.Contains(rows[i].want, " ") {
			got = firstWord(got)
		}
		jailtest.Expect(t, rows[i].attempt+", in the jail", got, rows[i].want)
	}
	if after := jailtest.HostTree(t, dir); !some && after != before {
		t.Errorf("the host's tree has changed:\n%s\nto\n%s", before, after)
	}
}

func firstWord(o attacker.Outcome) attacker.Outcome {
	first, _, _ := strings.Cut(o, " ")
	return first
}
