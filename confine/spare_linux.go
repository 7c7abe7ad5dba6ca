package confine

import (
	"bytes"
	"context"
	"slices"

	"github.com/mcp-jail/mcp-jail/confine/internal/dirs"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// spare is a jail of a PreparedPool. Who takes it out of the pool has it alone.
type spare struct {
	*starter
	profile *policy.Profile
	plan    *planpkg.Plan
	made    []dirs.State  // as the directories were before
	over    chan struct{} // closed when build has returned; then the fields below do not change
	mounts  []byte        // of the jail, as built: see Process.Mounts
	whole   bool          // mounts has all that the plan mounts
	failed  bool          // no jail could be built
}

// build builds the jail up to the execution of the server.
func (j *spare) build() {
	sp := j.plan.Spec
	sp.Keep.On = false
	j.process.plan = j.plan
	j.send(startRequest{plan: j.plan, spec: sp, ahead: true})
	j.failed = <-j.started != nil
	j.mounts, j.whole = j.process.Mounts()
}

// canBuildAhead reports whether a jail can be built before the server's files are known. A plan with sockets
// to serve, files to keep or a cgroup to ask for cannot.
func canBuildAhead(plan *planpkg.Plan) bool {
	return !plan.Spec.HostNS && !plan.Spec.Network.Any() && !plan.Spec.Keep.On && plan.Cgroup.Manager == ""
}

// start starts the program in the jail. It returns nil if that is not possible: the jail has ended then, and
// nothing of the program has run. If the context ends at the moment of the exec, the program may have begun.
func (j *spare) start(ctx context.Context, p *policy.Profile, stdio Stdio, l Launcher) *Process {
	select {
	case <-j.over:
	case <-ctx.Done():
	}
	made, _ := dirs.Made(p)
	if ctx.Err() != nil || j.failed || !slices.Equal(made, j.made) {
		j.abandon()
		return nil
	}
	// All directories exist. One may belong to another user: a new jail says so.
	now, whole := j.process.Mounts()
	if _, err := dirs.Make(p); err != nil || !whole || !j.whole || !bytes.Equal(now, j.mounts) {
		j.abandon()
		return nil
	}
	plan := *j.plan
	plan.Profile = p // which may be that of another tool
	j.process.plan = &plan
	if j.await(ctx, startRequest{stdio: stdio}, l) != nil {
		return nil
	}
	return j.process
}

// abandon ends a jail in which no server was started.
func (j *spare) abandon() {
	if !isClosed(j.over) {
		j.process.Kill()
		<-j.over
	}
	j.cancel()
}

// isGone reports whether the process could not be started or has ended, although its jail was not refused.
func (j *spare) isGone() bool {
	p := j.process
	p.mu.Lock()
	defer p.mu.Unlock()
	return isClosed(j.over) && (isClosed(p.done) || p.pidfd >= 0 && sys.WaitReadable(p.pidfd, 0))
}

// startsAs reports whether a start by l builds the same jail as one by other.
func (l Launcher) startsAs(other Launcher) bool {
	return l.TestHooks.Steps == nil && l.AskHost == nil && l.Kept == nil && l.UserHome == other.UserHome && l.watching() == other.watching() && !l.Once && !other.Once &&
		slices.Equal(l.Waive, other.Waive) && l.SupervisorPath == other.SupervisorPath && l.Umask == other.Umask
}
