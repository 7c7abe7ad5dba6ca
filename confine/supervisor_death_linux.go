package confine

// What happens when the supervisor dies.
//
// The supervisor is the first process of a PID namespace around the jail's own. (It begins as the
// stub's outer process, to which all of this applies too.) When it ends, whatever ended it, the
// kernel kills every process of both namespaces (pid_namespaces(7)). So no process of the server
// continues without the decisions of its supervisor. A mediated call that had no answer yet fails
// with ENOSYS, if its caller still runs.
//
// The launcher learns of the end at three places:
//
//   - The outer process cannot execute the supervisor: Reap returns an error, and failureCause
//     names the call that the kernel refused.
//   - The supervisor gives up. It reports the step that failed before it ends, and handleEvent
//     records that (spec.EventFailed). If the program does not run yet, the step is the error of
//     the start (reported.Failure; listen with host namespaces).
//   - The supervisor dies without a report, of a SIGKILL or of the kernel's OOM killer:
//     recordFailure records supervisorDied.
//
// The exit is that of SIGKILL, and Exit.Why has the reason. A jail that Kill ended, or that
// reached its limit of memory, has no such reason.
//
// In a jail with host namespaces no PID namespace ends with the supervisor.
// Its death kills the server's first process by the parent-death signal (startProgram in package
// supervisor). Detached processes of the server survive, still under Landlock and the filter; the
// plan has that as a gap. runOnce then removes the jail's TMPDIR (hostNamespaces.cleanUp).
//
// The other way round, a supervisor ends when its launcher does: it reads the end of its socket
// (passSignals in package supervisor). With namespaces the kernel also kills it by its parent-death
// signal.
//
// Tests: integration/lifetime_supervisor_death_linux_test.go.

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// supervisorDied is the Exit.Why of a jail whose init or supervisor ended without reporting a
// reason.
const supervisorDied = "the jail's init or supervisor died: another process killed it, or the kernel did for lack of memory (see dmesg), or it could not start at the limit of processes (ulimit -u, a container's limit), which the server may have used up"

// failureCause returns why a jail with namespaces ended before its program: the call that the
// kernel refused when the outer process executed the supervisor, or supervisorDied.
func failureCause(b *jail.Builder) string {
	var call *stub.CallError
	if errors.As(b.Outer.Fatal(), &call) {
		return (&step.Error{Step: step.Supervision, Errno: call.Errno}).Error()
	}
	return supervisorDied
}

// recordFailure records why the jail ended before its program did. It records nothing if the
// program exited, if Kill was called, if the supervisor reported a reason, or if a denial names the
// limit of memory.
func (p *Process) recordFailure(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lookIntoCgroup()
	memory := func(d policy.Denial) bool {
		return d.Axis == policy.AxisLimits && strings.HasPrefix(d.Target, spec.KeyMemory+" ")
	}
	if !p.exited && !p.killed && p.why == "" && !slices.ContainsFunc(p.denials, memory) {
		p.why = why
	}
}

// drainTimeout is how long the events of a supervisor are awaited after the end of the server.
const drainTimeout = time.Second

func (p *Process) stopSupervisor(drained <-chan struct{}) {
	p.events.Drain()
	if !p.isSupervised() {
		return
	}
	unix.Shutdown(int(p.control.Fd()), unix.SHUT_WR)
	waitForEvents(drained)
}

// waitForEvents waits until all events of the supervisor are handled, up to drainTimeout.
func waitForEvents(drained <-chan struct{}) {
	select {
	case <-drained:
	case <-time.After(drainTimeout):
	}
}
