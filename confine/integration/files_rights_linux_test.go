package integration

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	r  = policy.Read
	c  = policy.Create
	u  = policy.Update
	d  = policy.Delete
	x  = policy.Execute
	w  = policy.Write
	rw = policy.Read | policy.Write
	rx = policy.Read | policy.Execute
)

// TestJailRights: every operation works with exactly the rights that it needs, and fails without
// any one of them if all others are granted.
func TestJailRights(t *testing.T) {
	jailtest.Needs(t)
	testRights(t, jailtest.Attempts, true)
}

// TestHostNSRights is TestJailRights without namespaces, where Landlock alone enforces the rights.
func TestHostNSRights(t *testing.T) {
	jailtest.NeedsHostNS(t)
	testRights(t, jailtest.AttemptsHostNS, false)
}

// A rightsRow is an attempt, with the rights that it needs on DIR, the granted directory.
type rightsRow struct {
	attempt string
	needs   policy.Rights
}

// words returns the attempt in a directory.
func (r rightsRow) words(dir string) attacker.Attempt {
	return strings.Fields(strings.ReplaceAll(r.attempt, "DIR", dir))
}

func testRights(t *testing.T, in func(testing.TB, *policy.Profile, ...attacker.Attempt) []attacker.Outcome, mounts bool) {
	rows := []rightsRow{
		{"read DIR/file", r},
		{"read DIR/link", r},
		{"list DIR", r},
		{"list DIR/full", r},
		{"mkfile DIR/new", c},
		{"create DIR/new", c},
		{"tmpfile DIR/new", c},
		{"mkdir DIR/new", c},
		{"symlink DIR/new", c},
		{"mkfifo DIR/new", c},
		{"mksock DIR/new", c},
		{"link DIR/file DIR/new", c},
		{"link DIR/file DIR/full/new", c},
		{"write DIR/file", u},
		{"append DIR/file", u},
		{"rewrite DIR/file", u},
		{"truncate DIR/file", u},
		{"unlink DIR/file", d},
		{"unlink DIR/link", d},
		{"rmdir DIR/empty", d},
		{"rename DIR/file DIR/new", c | d},
		{"rename DIR/empty DIR/new", c | d},
		{"rename DIR/file DIR/other", c | d},
		{"rename DIR/file DIR/full/new", c | d},
		{"rename DIR/full/inner DIR/other", c | d},
		{"exchange DIR/file DIR/other", c | d},
		{"execs DIR/file", r | x},
		{"exec DIR/true", r | x},
	}
	if !mounts { // the filter lets it make no socket
		rows = slices.DeleteFunc(rows, func(r rightsRow) bool { return strings.HasPrefix(r.attempt, "mksock ") })
	}
	program := testkit.Get(os.ReadFile("/usr/bin/true"))(t)
	plant := func() string {
		dir := testkit.Plant(t, "file", "other", "link -> file", "empty/", "full/inner")
		testkit.Must(t, testkit.WriteProgram(filepath.Join(dir, "true"), program))
		return dir
	}
	// allowed makes the attempts of rows, each in a tree of its own.
	allowed := func(what string, run func(dirs []string, all []attacker.Attempt) []attacker.Outcome) {
		t.Helper()
		var dirs []string
		var all []attacker.Attempt
		for _, row := range rows {
			dir := plant()
			dirs, all = append(dirs, dir), append(all, row.words(dir))
		}
		for i, got := range run(dirs, all) {
			jailtest.Expect(t, rows[i].attempt+", "+what, firstWord(got), attacker.Succeeded)
		}
	}
	// granted makes them in one jail that gives each tree the rights of its row.
	granted := func(what string, rights func(rightsRow) policy.Rights) {
		t.Helper()
		allowed(what, func(dirs []string, all []attacker.Attempt) []attacker.Outcome {
			var grants []jailtest.Grant
			for i, dir := range dirs {
				grants = append(grants, jailtest.Grant{Path: dir, Rights: rights(rows[i])})
			}
			return in(t, jailtest.Profile(t, grants...), all...)
		})
	}
	// refused makes them in one tree, which stays as it was, in a jail that gives it these rights.
	refused := func(what string, rows []rightsRow, rights policy.Rights, want ...attacker.Outcome) {
		t.Helper()
		dir := plant()
		before := jailtest.HostTree(t, dir)
		var grants []jailtest.Grant
		if rights != 0 {
			grants = append(grants, jailtest.Grant{Path: dir, Rights: rights})
		}
		var all []attacker.Attempt
		for _, row := range rows {
			all = append(all, row.words(dir))
		}
		for i, got := range in(t, jailtest.Profile(t, grants...), all...) {
			if !slices.Contains(want, firstWord(got)) {
				t.Errorf("%s, %s: %s, want %v", rows[i].attempt, what, got, want)
			}
		}
		testkit.Equal(t, "the host's tree, "+what, jailtest.HostTree(t, dir), before)
	}
	needing := func(rights policy.Rights) []rightsRow {
		return slices.DeleteFunc(slices.Clone(rows), func(r rightsRow) bool { return r.needs&rights == 0 })
	}
	allowed("unconfined", func(_ []string, all []attacker.Attempt) []attacker.Outcome {
		return jailtest.Unconfined(t, "/", all...)
	})
	granted("with what it needs", func(r rightsRow) policy.Rights { return r.needs })
	granted("with everything", func(rightsRow) policy.Rights { return policy.AllRights })
	for _, one := range []policy.Rights{r, c, u, d, x} {
		need := needing(one)
		if one == u && !refusesTruncating() {
			notTruncating(t)
			need = slices.DeleteFunc(need, func(r rightsRow) bool { return strings.HasPrefix(r.attempt, "truncate ") })
		}
		refused("without "+one.String(), need, policy.AllRights&^one, "EACCES")
	}
	if !mounts {
		return
	}
	refused("read-only", needing(w), rx, "EROFS") // a read-only mount answers before Landlock
	missing := func(two bool) []rightsRow {
		return slices.DeleteFunc(slices.Clone(rows), func(r rightsRow) bool {
			return two != (strings.HasPrefix(r.attempt, "rename") || strings.HasPrefix(r.attempt, "link"))
		})
	}
	refused("not granted at all", missing(true), 0, "ENOENT")
	refused("not granted at all", missing(false), 0, "ENOENT", "EROFS")
}

// refusesTruncating reports whether Landlock or the supervisor does.
func refusesTruncating() bool {
	f := kernel.Detect()
	return f.LandlockABI >= 3 || f.SeccompNotify.Answer == kernel.Yes
}

// notTruncating: where neither does, nothing keeps a file from being truncated
// where names may be made or removed. That is a gap, and nothing starts unless it is
// waived (as these tests do).
func notTruncating(t *testing.T) {
	t.Helper()
	dir := testkit.Plant(t, "file")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: policy.AllRights &^ u})
	var gaps *plan.GapError
	if _, err := jailtest.Run(t, confine.Launcher{}, p, []attacker.Attempt{attacker.Try("truncate", dir+"/file")}); !errors.As(err, &gaps) || !strings.Contains(err.Error(), "truncating files") {
		t.Errorf("truncating is not a gap: %v", err)
	}
}
