package confine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// spare is a jail of a PreparedPool. Who takes it out of the pool has it alone.
type spare struct {
	*starter
	profile *policy.Profile
	plan    *planpkg.Plan
	made    []dirState    // as the directories were before
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

// canBuildAhead reports whether a jail can be built before the server's files are known. A plan with connections
// to serve, files to keep or a cgroup to ask for cannot.
func canBuildAhead(plan *planpkg.Plan) bool {
	return !plan.Spec.HostNS && !plan.Spec.Network.Relays() && !plan.Spec.Keep.On && plan.Cgroup.Manager == ""
}

// start starts the program in the jail. It returns nil if that is not possible: the jail has ended then, and
// nothing of the program has run. If the context ends at the moment of the exec, the program may have begun.
func (j *spare) start(ctx context.Context, p *policy.Profile, stdio Stdio, l Launcher) *Process {
	select {
	case <-j.over:
	case <-ctx.Done():
	}
	made, _ := madeDirs(p)
	if ctx.Err() != nil || j.failed || !slices.Equal(made, j.made) {
		j.abandon()
		return nil
	}
	// All directories exist. One may belong to another user: a new jail says so.
	now, whole := j.process.Mounts()
	if _, err := makeDirs(p); err != nil || !whole || !j.whole || !bytes.Equal(now, j.mounts) {
		j.abandon()
		return nil
	}
	plan := *j.plan
	plan.Profile = p // which may be that of another tool
	j.process.plan, j.process.userHome = &plan, l.UserHome
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
	return l.TestHooks.Steps == nil && l.Kept == nil && l.watching() == other.watching() && !l.Once && !other.Once &&
		slices.Equal(l.Waive, other.Waive) && l.SupervisorPath == other.SupervisorPath && l.Umask == other.Umask
}

// madeDirs returns the state of each directory that a start would make, or false if one does not exist. A
// directory of which the server gets a copy has its time of change in it: the copy is to begin as the directory is now.
func madeDirs(p *policy.Profile) (states []dirState, all bool) {
	for _, e := range p.Entries {
		if !e.Make {
			continue
		}
		var st syscall.Stat_t
		if syscall.Lstat(e.Path, &st) != nil {
			return nil, false
		}
		state := dirState{dev: st.Dev, ino: st.Ino}
		if e.Ephemeral {
			state.changed = st.Ctim
		}
		states = append(states, state)
	}
	return states, true
}

// dirState tells a directory from another, or from itself at another time.
type dirState struct {
	dev, ino uint64
	changed  syscall.Timespec
}

// checkUnusedTempDir returns an error if a jail of the same plan is running. Both would use the
// TMPDIR that the plan names, and the one that ends first would remove it.
func checkUnusedTempDir(dir string) error {
	if _, err := os.Lstat(dir); err == nil {
		return &StartError{Step: sys.Spec, Detail: dir + " exists: a jail of this plan is running. Compile the profile again for each jail with host namespaces"}
	}
	return nil
}

// start sends the plan to the goroutine that builds the jail (run), and waits until the program
// was executed or a step failed.
func (p *starter) start(ctx context.Context, plan *planpkg.Plan, stdio jail.Stdio, l Launcher) (*Process, error) {
	made, err := makeDirs(plan.Profile)
	if err != nil {
		p.cancel()
		return nil, err
	}
	sp := plan.Spec
	sp.Keep.On = sp.Keep.On && l.Kept != nil // without files to keep changes in, none are kept
	if sp.HostNS {
		if err := checkUnusedTempDir(sp.TempDir); err != nil {
			p.cancel()
			removeDirs(made)
			return nil, err
		}
		p.process.mu.Lock()
		p.process.hostNS = hostNamespaces{used: true, tmp: sp.TempDir}
		p.process.mu.Unlock()
	}
	// It adds the certificate of its authority to sp, which is a copy: the plan stays as it is.
	interceptor, err := gateway.StartTLS(ctx, plan, &sp, l.runTLS(plan.Profile), p.process.tellOfTLS)
	if err != nil {
		p.cancel()
		removeDirs(made)
		return nil, err
	}
	p.process.interceptor = interceptor
	p.process.runTLS = l.runTLS(plan.Profile)
	p.process.plan, p.process.ports, p.process.traffic, p.process.userHome = plan, l.Ports, l.Traffic, l.UserHome
	if err = p.await(ctx, startRequest{plan: plan, spec: sp, stdio: stdio, kept: l.Kept}, l); err == nil {
		return p.process, nil
	}
	if interceptor != nil {
		interceptor.End()
	}
	removeDirs(made)
	return nil, err
}

// await sends the request and waits until the server was executed. If it was not, the jail has ended when await
// returns, so no process can be in a directory that was made for it.
func (p *starter) await(ctx context.Context, request startRequest, l Launcher) (err error) {
	if l.BeforeExec != nil {
		request.beforeExec = func() error { return l.BeforeExec(ctx) }
	}
	p.send(request)
	came, err := awaitReport(ctx, p.started)
	if !came {
		err = cancelled(ctx)
		p.process.Kill()
	}
	if err != nil {
		<-p.process.done
	}
	return err
}

// cancelled returns the error of a start whose context ended. If the deadline passed, the
// error names what is known to delay starts.
func cancelled(ctx context.Context) error {
	if ctx.Err() != context.DeadlineExceeded {
		return ctx.Err()
	}
	e := late(ctx)
	if queued, limit := queuedSignals(); limit > 0 && queued+2*spec.SupervisorThreads > limit {
		e.Detail += fmt.Sprintf(". %d signals are queued for this user, of at most %d (SigQ in /proc/self/status), and mcp-jail needs one for each of its threads: end the programs that leave signals queued, or raise the limit (ulimit -i)", queued, limit)
	}
	return e
}

// queuedSignals returns the number of signals queued for the user and its limit: SigQ in
// /proc/self/status, see proc(5).
func queuedSignals() (queued, limit int) {
	b, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(b), "\nSigQ:\t")
	fmt.Sscanf(rest, "%d/%d", &queued, &limit)
	return queued, limit
}
