package integration

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
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

// TestHostNSIsRefused: every gap belongs to an axis that can be waived. Without the waivers
// nothing starts.
func TestHostNSIsRefused(t *testing.T) {
	jailtest.NeedsHostNS(t)
	p := jailtest.Profile(t)
	_, err := confine.Launcher{}.Start(t.Context(), p, jail.Stdio{})
	var gaps *planpkg.GapError
	if !errors.As(err, &gaps) || gaps.HostNamespaces.Answer != kernel.No || gaps.HostNamespaces.Detail == "" || gaps.HostNamespaces.Fix == "" {
		t.Fatalf("%#v", err)
	}
	axes := gaps.Waive
	if len(axes) == 0 || !strings.Contains(err.Error(), gaps.WaiveLine()) || !strings.Contains(err.Error(), gaps.HostNamespaces.Detail) {
		t.Errorf("%v\n%v", axes, err)
	}
	for i := range axes { // each of them is needed
		some := slices.Delete(slices.Clone(axes), i, i+1)
		if _, err := (confine.Launcher{Waive: some}).Start(t.Context(), p, jail.Stdio{}); !errors.Is(err, planpkg.ErrGaps) {
			t.Errorf("without waiving %s: %v", axes[i], err)
		}
	}
	proc := testkit.Get(confine.Launcher{Waive: axes}.Start(t.Context(), p, jail.Stdio{}))(t)
	proc.Wait()
	testkit.Equal(t, "", proc.Plan().HostNamespaces.Answer, kernel.No)
	if plan, err := (confine.Launcher{}).Compile(p); !errors.As(err, &gaps) || plan.HostNamespaces.Answer != kernel.No {
		t.Errorf("Compile says otherwise: %v, %v", plan.HostNamespaces, err)
	}
}

func TestHostNSState(t *testing.T) {
	jailtest.NeedsHostNS(t)
	const none = "0000000000000000"
	p := jailtest.Profile(t)
	p.Env = append(p.Env, policy.Variable{Name: "TMPDIR", Value: "/tmp"}, policy.Variable{Name: policy.StatementVar, Value: string(policy.NewStatement(p).Encode())})
	got := jailtest.AttemptsHostNS(t, p, attacker.Try("capabilities"), attacker.Try("fds"), attacker.Try("cwd"), attacker.Try("tmp"), attacker.Try("statement"))
	if got[0] != "ok "+none+" "+none+" "+none || got[1] != "ok 0 1 2" || got[2] != "ok /" {
		t.Errorf("%v", got)
	}
	tmp, ok := strings.CutPrefix(got[3], "ok ")
	if _, err := os.Lstat(tmp); !ok || !errors.Is(err, os.ErrNotExist) || !strings.Contains(tmp, "/mcp-jail-") {
		t.Errorf("TMPDIR %q: %v", tmp, err)
	}
	jailtest.Expect(t, "what the server is told", got[4], "ok "+tmp)
}

// TestHostNSLeavesNothingOpen: a launcher that starts jails one after the other keeps no
// descriptor.
func TestHostNSLeavesNothingOpen(t *testing.T) {
	jailtest.NeedsHostNS(t)
	p := jailtest.Profile(t)
	jailtest.AttemptsHostNS(t, p, attacker.Try("cwd")) // what is made once
	before := descriptorsOpen(t)
	for range 5 {
		jailtest.AttemptsHostNS(t, p, attacker.Try("cwd"))
	}
	testkit.Eventually(t, "no descriptor more than before", func() bool { return descriptorsOpen(t) <= before })
}

// TestHostNSHundred is TestJailThousand where there are no namespaces.
func TestHostNSHundred(t *testing.T) {
	jailtest.NeedsHostNS(t)
	secret := testkit.Plant(t, "secret") + "/secret"
	p := jailtest.Profile(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range jailtest.Rounds(5, 25) {
				got := jailtest.AttemptsHostNS(t, p, attacker.Try("read", secret), attacker.Try("list", "/"), attacker.Try("socket", "2", "1", "0"), attacker.Try("userns"), attacker.Try("capabilities"))
				const none = "0000000000000000"
				testkit.Equal(t, "", fmt.Sprint(got), "[EACCES EACCES EAFNOSUPPORT EPERM ok "+none+" "+none+" "+none+"]")
			}
		})
	}
	wg.Wait()
}

// TestHostNSPlanStartsOneJailAtATime tests that a plan is not started while a jail of it runs:
// both would have one TMPDIR. The running jail keeps its own.
func TestHostNSPlanStartsOneJailAtATime(t *testing.T) {
	jailtest.NeedsHostNS(t)
	p := jailtest.Profile(t)
	p.Env = append(slices.Clone(p.Env), policy.Variable{Name: "TMPDIR", Value: "/tmp"})
	p.Program, p.Argv = "/bin/sh", []string{"sh", "-c", "read line; test -d \"$TMPDIR\" && exit 7"}
	plan := testkit.Get(jailtest.WaivesGaps.Compile(p))(t)
	start := func() (*confine.Process, *os.File, error) {
		r, w, err := os.Pipe()
		testkit.Must(t, err)
		defer r.Close()
		process, err := jailtest.WaivesGaps.StartPlan(t.Context(), plan, confine.Stdio{In: r})
		return process, w, err
	}
	first, in, err := start()
	testkit.Must(t, err)
	second, _, err := start()
	if err == nil {
		second.Kill()
	}
	testkit.Fails(t, "the second start", err, "a jail of this plan is running")
	in.Close()
	testkit.Equal(t, "the first jail", testkit.Get(first.Wait())(t).Code, 7)
	third, in, err := start()
	testkit.Must(t, err)
	in.Close()
	testkit.Equal(t, "the third jail", testkit.Get(third.Wait())(t).Code, 7)
}
