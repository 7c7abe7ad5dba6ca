package integration

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// onHostWith makes the attempts in a jail that is compiled for a host with these facts,
// gaps or not.
func onHostWith(t *testing.T, p *policy.Profile, f kernel.Facts, errs *os.File, attempts ...attacker.Attempt) []attacker.Outcome {
	t.Helper()
	q := *p
	q.Argv = append(slices.Clone(p.Argv), jailtest.Args(t, attempts)...)
	out, w, err := os.Pipe()
	testkit.Must(t, err)
	proc, err := confine.Launcher{}.StartPlan(t.Context(), jailtest.Compile(&q, f), jail.Stdio{Out: w, Err: errs})
	w.Close()
	testkit.Must(t, err)
	report, _ := io.ReadAll(out)
	out.Close()
	proc.Wait()
	return jailtest.Outcomes(t, attempts, report, "")
}

// TestHostNSGaps: every gap that the plan names is one, with and without a supervisor. With a
// supervisor there are no other gaps.
func TestHostNSGaps(t *testing.T) {
	jailtest.NeedsHostNS(t)
	dir := testkit.Plant(t, hostNSTree...)
	p := hostNSProfile(t, dir)
	p.Limits = policy.Limits{Processes: 100}
	f := kernel.Detect().WithUserNS(kernel.UserNamespaces())
	unsupervised := f
	unsupervised.SeccompNotify = kernel.Unavailable("it is missing", "have it")
	for _, c := range []struct {
		facts   kernel.Facts
		attempt attacker.Attempt
		want    attacker.Outcome
		what    string // of the gap
	}{
		{f, attacker.Try("stat", dir+"/outside"), "ok", "what is not granted is hidden"},
		{unsupervised, attacker.Try("read", dir+"/work/.env"), "ok .env", "hidden inside a wider grant: " + dir + "/work/.env, " + dir + "/work/private"},
		{unsupervised, attacker.Try("write", dir+"/work/.git/hooks/pre-commit"), "ok", "less than around them: " + dir + "/work/.git/config (no update), " + dir + "/work/.git/hooks (no write)"},
		{unsupervised, attacker.Try("chmod", dir+"/outside"), "ok", "modes, owners, times"},
		{unsupervised, attacker.Try("create", dir+"/work/.envrc"), "ok", "protected files that do not exist yet"},
	} {
		plan := planpkg.Compile(p, c.facts, planpkg.Watching{})
		if !slices.ContainsFunc(plan.Gaps, func(g planpkg.Gap) bool {
			return g.Axis == policy.AxisFs && !g.Fatal && strings.Contains(g.What, c.what)
		}) {
			t.Errorf("the plan does not say %q: %+v", c.what, plan.Gaps)
		}
		jailtest.Expect(t, c.attempt.String(), onHostWith(t, p, c.facts, nil, c.attempt)[0], c.want)
	}
	var whats []string
	for _, g := range planpkg.Compile(p, f, planpkg.Watching{}).Gaps {
		whats = append(whats, string(g.Axis)+" "+g.What)
	}
	want := []string{"fs what is not granted is hidden", "process no process survives", "limits processes = 100"}
	if f.LandlockABI < 6 {
		want[1] = "process no signal to your other processes, and no process survives"
	}
	if !f.Cgroup.None() {
		want = want[:2]
	}
	testkit.Equal(t, "", whats, want)
}

// TestHostNSExecuteGap: only Landlock decides about execution. It cannot take execution back
// inside a grant, as a mount could.
func TestHostNSExecuteGap(t *testing.T) {
	jailtest.NeedsHostNS(t)
	dir := testkit.Plant(t, "work/sub/")
	program := testkit.Get(os.ReadFile("/usr/bin/true"))(t)
	for _, name := range []string{"/work/hidden", "/work/sub/tool"} {
		testkit.Must(t, testkit.WriteProgram(dir+name, program))
	}
	p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/work", Rights: policy.AllRights}, jailtest.Grant{Path: dir + "/work/hidden", Rights: 0}, jailtest.Grant{Path: dir + "/work/sub", Rights: rw})
	plan, _ := jailtest.WaivesGaps.Compile(p)
	if what := "not executable inside a wider grant: " + dir + "/work/hidden, " + dir + "/work/sub"; !slices.ContainsFunc(plan.Gaps, func(g planpkg.Gap) bool {
		return g.Axis == policy.AxisFs && g.What == what && strings.Contains(g.Why, "LD_PRELOAD")
	}) {
		t.Errorf("the plan does not say %q: %+v", what, plan.Gaps)
	}
	got := jailtest.AttemptsHostNS(t, p, attacker.Try("exec", dir+"/work/hidden"), attacker.Try("exec", dir+"/work/sub/tool"), attacker.Try("read", dir+"/work/hidden"))
	testkit.Equal(t, "", fmt.Sprint(got), "[ok ok EACCES]")
}

// TestHostNSOlderLandlock: jails are compiled for every Landlock ABI that this kernel includes,
// with and without a supervisor. What the ABI lacks is enforced otherwise or is a gap.
func TestHostNSOlderLandlock(t *testing.T) {
	jailtest.NeedsHostNS(t)
	newest := kernel.Detect().LandlockABI
	for abi := 1; abi <= newest; abi++ {
		for _, supervised := range []bool{true, false} {
			t.Run(fmt.Sprintf("ABI %d, supervised %v", abi, supervised), func(t *testing.T) {
				f := kernel.Detect().WithUserNS(kernel.UserNamespaces())
				f.LandlockABI = abi
				if !supervised {
					f.SeccompNotify = kernel.Unavailable("it is missing", "have it")
				}
				dir := testkit.Plant(t, hostNSTree...)
				p := hostNSProfile(t, dir)
				tries := []attacker.Attempt{
					attacker.Try("read", dir+"/work/file"), attacker.Try("write", dir+"/work/file"), attacker.Try("read", dir+"/outside"), attacker.Try("write", dir+"/outside"),
					attacker.Try("truncate", dir+"/outside"), attacker.Try("open-truncate", dir+"/outside"), attacker.Try("list", "/"), attacker.Try("socket", "2", "1", "0"),
					attacker.Try("daemon", "2"), attacker.Try("daemon", "0s"),
				}
				pipe := newWitness(t)
				got := onHostWith(t, p, f, pipe.w, tries...)
				pipe.gone(t) // and detached processes
				truncate := "EACCES"
				if abi < 3 && !supervised {
					truncate = "EPERM" // by the filter
				}
				want := []attacker.Outcome{"ok file", "ok", "EACCES", "EACCES", truncate, truncate, "EACCES", "EAFNOSUPPORT", "ok", "ok"}
				for i := range want {
					jailtest.Expect(t, tries[i].String(), got[i], want[i])
				}
				if b, err := os.ReadFile(dir + "/outside"); string(b) != "outside" {
					t.Errorf("outside: %q, %v", b, err)
				}
			})
		}
	}
}
