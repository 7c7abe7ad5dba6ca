package integration

import (
	"errors"
	"os"
	"path/filepath"
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

func testRights(t *testing.T, in func(testing.TB, *policy.Profile, ...attacker.Attempt) []attacker.Outcome, mounts bool) {
	for _, row := range []struct {
		attempt string        // DIR is the granted directory
		needs   policy.Rights // on DIR
	}{
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
	} {
		if !mounts && strings.HasPrefix(row.attempt, "mksock ") {
			continue // the filter lets it make no socket
		}
		t.Run(row.attempt, func(t *testing.T) {
			t.Parallel()
			// once makes the attempt on a fresh tree.
			once := func(run func(dir string, a attacker.Attempt) attacker.Outcome) (got attacker.Outcome, changed bool) {
				dir := testkit.Plant(t, "file", "other", "link -> file", "empty/", "full/inner")
				program, err := os.ReadFile("/usr/bin/true")
				if err == nil {
					err = testkit.WriteProgram(filepath.Join(dir, "true"), program)
				}
				testkit.Must(t, err)
				before := jailtest.HostTree(t, dir)
				got = run(dir, strings.Fields(strings.ReplaceAll(row.attempt, "DIR", dir)))
				got, _, _ = strings.Cut(got, " ")
				return got, jailtest.HostTree(t, dir) != before
			}
			with := func(rights policy.Rights) (attacker.Outcome, bool) {
				return once(func(dir string, a attacker.Attempt) attacker.Outcome {
					if rights == 0 {
						return in(t, jailtest.Profile(t), a)[0]
					}
					return in(t, jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rights}), a)[0]
				})
			}
			got, _ := once(func(dir string, a attacker.Attempt) attacker.Outcome { return jailtest.Unconfined(t, dir, a)[0] })
			jailtest.Expect(t, "unconfined", got, attacker.Succeeded)
			got, _ = with(row.needs)
			jailtest.Expect(t, "with "+row.needs.String(), got, attacker.Succeeded)
			got, _ = with(policy.AllRights)
			jailtest.Expect(t, "with everything", got, attacker.Succeeded)

			for _, one := range []policy.Rights{r, c, u, d, x} {
				if row.needs&one == 0 {
					continue
				}
				if strings.HasPrefix(row.attempt, "truncate ") && !refusesTruncating() {
					notTruncating(t)
					continue
				}
				got, changed := with(policy.AllRights &^ one)
				jailtest.Expect(t, "without "+one.String(), got, "EACCES")
				if changed {
					t.Errorf("without %s: the host's tree has changed", one)
				}
			}
			if !mounts {
				return
			}
			if row.needs&w != 0 {
				got, changed := with(rx) // a read-only mount answers before Landlock
				jailtest.Expect(t, "read-only", got, "EROFS")
				if changed {
					t.Error("read-only: the host's tree has changed")
				}
			}
			got, changed := with(0)
			if strings.HasPrefix(row.attempt, "rename") || strings.HasPrefix(row.attempt, "link") || got != "EROFS" {
				jailtest.Expect(t, "not granted at all", got, "ENOENT")
			}
			if changed {
				t.Error("not granted: the host's tree has changed")
			}
		})
	}
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
