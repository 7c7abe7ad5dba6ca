package confine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestStartOfStoppedProcessIsCancelled: a start can be cancelled while the supervisor process
// does not read, however long the spec is.
func TestStartOfStoppedProcessIsCancelled(t *testing.T) {
	jailtest.Needs(t)
	for _, size := range []int{0, 60 << 10, 1 << 20} {
		prepared := confine.Launcher{}.Prepare()
		testkit.Eventually(t, "it is there", func() bool { return prepared.Waiting().PID() > 0 })
		pid := prepared.Waiting().PID()
		testkit.Must(t, unix.Kill(pid, unix.SIGSTOP))
		p := jailtest.Profile(t)
		p.Env = append(p.Env, policy.Variable{Name: "LONG", Value: strings.Repeat("x", size)})
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := confine.Launcher{Prepared: prepared}.Start(ctx, p, jail.Stdio{})
			failed <- err
		}()
		time.Sleep(50 * time.Millisecond) // in the midst of it
		cancel()
		select {
		case err := <-failed:
			testkit.Is(t, fmt.Sprintf("%d bytes", size), err, context.Canceled)
		case <-time.After(testkit.Patience):
			t.Errorf("%d bytes: the start cannot be cancelled", size)
			unix.Kill(pid, unix.SIGKILL)
			<-failed
		}
	}
}

// TestPreparedRefusesPlanOfOtherKind: a supervisor process refuses a plan for the other kind of jail. It would leave
// out steps that the plan counts on.
func TestPreparedRefusesPlanOfOtherKind(t *testing.T) {
	jailtest.Needs(t)
	p := jailtest.Profile(t)
	p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("cwd")})...)
	for _, hostNS := range []bool{false, true} {
		facts := kernel.Detect().WithUserNS(kernel.Available(""))
		if hostNS {
			facts = kernel.Detect().WithUserNS(kernel.Unavailable("for this test", ""))
		}
		plan := jailtest.Compile(p, facts)
		testkit.MustEqual(t, "the plan has host namespaces", plan.Spec.HostNS, hostNS)
		_, err := confine.StartOther(t.Context(), plan, jail.Stdio{})
		var se *sys.Error
		if !errors.As(err, &se) || se.Step != sys.Spec {
			t.Errorf("host namespaces %t: %#v, want a refusal of the spec", hostNS, err)
		}
		process, err := confine.Launcher{}.StartPlan(t.Context(), plan, jail.Stdio{})
		if err != nil {
			t.Errorf("host namespaces %t, by the supervisor process that it is for: %v", hostNS, err)
			continue
		}
		process.Wait()
	}
}

// TestStartKeepsItsPlan: a start does not change its plan, which others may use at the same time. The jail has
// a mask and a read-only directory, whose objects building finds out.
func TestStartKeepsItsPlan(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "ws/secret", "ws/sub/")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: policy.Read | policy.Write}, jailtest.Grant{Path: dir + "/ws/secret"}, jailtest.Grant{Path: dir + "/ws/sub", Rights: policy.Read})
	for i := range p.Entries { // as if the host could not tell
		if p.Entries[i].Path == dir+"/ws/sub" {
			p.Entries[i].ID = policy.FileID{}
		}
	}
	p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("cwd")})...)
	plan := testkit.Get(confine.Launcher{}.Compile(p))(t)
	before := plan.Spec.Encode()
	process := testkit.Get(confine.Launcher{}.StartPlan(t.Context(), plan, jail.Stdio{}))(t)
	process.Wait()
	testkit.Equal(t, "the plan is another one", plan.Spec.Encode(), before)
}
