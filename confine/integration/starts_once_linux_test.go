package integration

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// furtherStarts are ways to start a program: another one, the same one by its path and by /proc, a copy in
// memory, by a descriptor, and from another thread. With want "" each starts one.
func furtherStarts(want string) (all []attacker.Attempt, wants []string) {
	self := jailtest.Binary
	for _, a := range []attacker.Attempt{
		attacker.Try("exec", "/bin/true"), attacker.Try("execat", "/bin/true"), attacker.Try("memexec", "/bin/true"),
		attacker.Try("exec-probe", self, `[["cwd"]]`), attacker.Try("exec-probe", "/proc/self/exe", `[["cwd"]]`),
		attacker.Try("start-copy", "/bin/true", "true"), attacker.Try("start-from-thread", "/bin/true", "true", ""),
	} {
		all, wants = append(all, a), append(wants, want)
	}
	return all, wants
}

// TestStartsOnce: with Launcher.Once the jail starts no program after its own, however it is named, and says so.
// It still forks and makes files, and the kernel alone decides about these: see TestHostNSStartsOnce for jails
// without namespaces.
func TestStartsOnce(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "home/", "outside")
	p := jailtest.Profile(t)
	p.Entries = append(p.Entries, policy.Entry{Path: dir + "/home", Named: "home", Kind: policy.KindDir, Rights: rw, Origin: policy.OriginHome, Rule: "home", Make: true})
	jailtest.SortEntries(p)
	startsOnce(t, confine.Launcher{}, p)
	once := jailtest.BeginBy(t, confine.Launcher{Once: true}, p, attacker.Try("create", dir+"/home/file"), attacker.Try("read", dir+"/outside"))
	once.Finish()
	testkit.Works(t, "", testkit.ErrorOf(os.Lstat(dir+"/home/file")))
	granted := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw})
	var gaps *confine.GapError
	if _, err := (confine.Launcher{Once: true}).Start(t.Context(), granted, confine.Stdio{}); !errors.As(err, &gaps) {
		t.Errorf("a profile whose rules need mediation: %v", err)
	}
}

// TestHostNSStartsOnce is TestStartsOnce in a jail without namespaces.
func TestHostNSStartsOnce(t *testing.T) {
	jailtest.NeedsHostNS(t)
	startsOnce(t, jailtest.WaivesGaps, jailtest.Profile(t))
}

func startsOnce(t *testing.T, l confine.Launcher, p *policy.Profile) {
	t.Helper()
	for _, c := range []struct {
		once bool
		want string
	}{{false, attacker.Succeeded}, {true, "EACCES"}} {
		l.Once = c.once
		attempts, wants := furtherStarts(c.want)
		s := jailtest.BeginBy(t, l, p, attempts...)
		s.Finish()
		for i, o := range jailtest.Outcomes(t, attempts, s.Out.Bytes(), "") {
			if !strings.HasPrefix(o, wants[i]) {
				t.Errorf("once %v: %v: %s", c.once, attempts[i], o)
			}
		}
		said := slices.ContainsFunc(s.Process.Denials(), func(d policy.Denial) bool {
			return d.Axis == policy.AxisProcess && d.Operation == "exec" && d.Target == "/usr/bin/true"
		})
		testkit.Equal(t, fmt.Sprintf("once: %v", s.Process.Denials()), said, c.once)
	}
}
