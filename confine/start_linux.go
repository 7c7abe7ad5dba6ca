package confine

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/dirs"
	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/reported"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
)

// checkUnusedTempDir returns an error if a jail of the same plan is running. Both would use the
// TMPDIR that the plan names, and the one that ends first would remove it.
func checkUnusedTempDir(dir string) error {
	if _, err := os.Lstat(dir); err == nil {
		return &StartError{Step: step.Spec, Detail: dir + " exists: a jail of this plan is running. Compile the profile again for each jail with host namespaces"}
	}
	return nil
}

// start sends the plan to the goroutine that builds the jail (run), and waits until the program
// was executed or a step failed.
func (p *starter) start(ctx context.Context, plan *planpkg.Plan, stdio jail.Stdio, l Launcher) (*Process, error) {
	made, err := dirs.Make(plan.Profile)
	if err != nil {
		p.cancel()
		return nil, err
	}
	sp := plan.Spec
	sp.Keep.On = sp.Keep.On && l.Kept != nil // without files to keep changes in, none are kept
	if sp.HostNS {
		if err := checkUnusedTempDir(sp.TempDir); err != nil {
			p.cancel()
			dirs.Remove(made)
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
		dirs.Remove(made)
		return nil, err
	}
	p.process.interceptor = interceptor
	p.process.runTLS = l.runTLS(plan.Profile)
	p.process.plan, p.process.askHost, p.process.userHome = plan, l.AskHost, l.UserHome
	if err = p.await(ctx, startRequest{plan: plan, spec: sp, stdio: stdio, kept: l.Kept}, l); err == nil {
		return p.process, nil
	}
	if interceptor != nil {
		interceptor.End()
	}
	dirs.Remove(made)
	return nil, err
}

// await sends the request and waits until the server was executed. If it was not, the jail has ended when await
// returns, so no process can be in a directory that was made for it.
func (p *starter) await(ctx context.Context, request startRequest, l Launcher) (err error) {
	if l.BeforeExec != nil {
		request.beforeExec = func() error { return l.BeforeExec(ctx) }
	}
	p.send(request)
	came, err := reported.Await(ctx, p.started)
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
		e.Detail += fmt.Sprintf(". %d signals are queued for this user, of at most %d (SigQ in /proc/self/status), and the supervisor needs one for each of its threads: end the programs that leave signals queued, or raise the limit (ulimit -i)", queued, limit)
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
