package confine

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/mac"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// RunSupervisor does the work of the first program in a jail, of its watcher, or of the self-test, and
// never returns if this process was started as one of them. Otherwise it returns at once. Call it first
// thing in main.
func RunSupervisor() {
	mac.Serve()
	mac.Main()
}

// start carries out a plan.
func (*starter) start(ctx context.Context, plan *Plan, stdio Stdio, l Launcher) (*Process, error) {
	made, err := makeDirs(plan.Profile)
	if err != nil {
		return nil, err
	}
	own := *plan // its spec gets what this start adds: the plan stays as it is
	p := &Process{plan: &own, done: make(chan struct{})}
	if err = p.launch(ctx, l, stdio); err != nil {
		p.cleanUp()
		removeDirs(made)
		if ctx.Err() == context.DeadlineExceeded {
			err = late(ctx)
		}
		return nil, err
	}
	go p.wait()
	return p, nil
}

// launch starts the server: with the certificate of the authority that the session may have, the port and
// the password of its proxy, and a TMPDIR.
func (p *Process) launch(ctx context.Context, l Launcher, stdio Stdio) (err error) {
	plan := p.plan
	if plan.Seatbelt == nil {
		return &sys.Error{Step: sys.Spec, Detail: "the plan is for another system"}
	}
	if p.interceptor, err = gateway.StartTLS(ctx, plan, &plan.Spec, l.runTLS(plan.Profile), p.tellOfTLS); err != nil {
		return err
	}
	input := *plan.Seatbelt
	if input.Self, err = ownProgram(l.SupervisorPath); err != nil {
		return err
	}
	if policy.Write&plan.Profile.RightsAt(input.Self) != 0 {
		return &sys.Error{Step: sys.Spec, Detail: "the policy lets the server change mcp-jail's own program " + input.Self}
	}
	if input.ProxyPort, err = p.openNetwork(&plan.Spec, l.runTLS(plan.Profile)); err != nil {
		return err
	}
	text, err := seatbelt.Compile(input)
	if err != nil {
		return &sys.Error{Step: sys.Spec, Detail: err.Error()}
	}
	if l.BeforeExec != nil {
		if err := l.BeforeExec(ctx); err != nil {
			return err
		}
	}
	note, err := mac.MakePrivate(&plan.Spec)
	if err != nil {
		return err
	}
	p.temp = plan.Spec.TempDir
	if note != "" {
		p.notify(Notice{Text: note, Warning: true})
	}
	plan.Spec.Umask = spec.UnknownUmask
	if l.Umask != nil {
		plan.Spec.Umask = *l.Umask & 0o777
	}
	p.server, err = mac.Start(ctx, mac.Command{Text: text, Self: input.Self, Spec: &plan.Spec, Stdio: [3]*os.File{stdio.In, stdio.Out, stdio.Err}})
	return err
}

// ownProgram returns the real path of the program that becomes the server inside: the profile names it, and
// the policy is asked about it.
func ownProgram(path string) (string, error) {
	var err error
	if path == "" {
		if path, err = os.Executable(); err != nil {
			return "", sys.Wrap("init", err)
		}
	}
	real, _, err := hostfs.ResolveLinks(path)
	if err != nil {
		return "", sys.Wrap("init", sys.On(path, err))
	}
	return real, nil
}

// openNetwork opens the session's proxy if hosts are granted, and gives the server the variables
// that lead there. A variable that a rule of the policy sets keeps its value. openNetwork returns the
// port, or 0.
func (p *Process) openNetwork(sp *spec.Spec, run gateway.Runner) (port int, err error) {
	profile := p.plan.Profile
	if !slices.ContainsFunc(profile.Net, func(r policy.NetRule) bool { return r.Allow }) {
		return 0, nil
	}
	listeners, port, err := egress.NewProxyListeners()
	if err != nil {
		return 0, &sys.Error{Step: sys.Network, Errno: sys.Errno(err), Detail: "the session's own proxy: " + err.Error()}
	}
	g := gateway.New(profile, p.interceptor, run, egress.Options{Tell: func(l egress.Leak) { p.notify(Notice{Leak: &l}) }})
	password := proxyPassword()
	g.ServeProxy(listeners, password)
	p.gateway = g
	sp.Env = slices.Clone(sp.Env) // the plan stays as it is
	for _, v := range egress.ProxyVariables(port, password, sp.Program) {
		if !slices.ContainsFunc(sp.Env, func(set string) bool { return strings.HasPrefix(set, v.Name+"=") }) {
			sp.Env = append(sp.Env, v.Name+"="+v.Value)
		}
	}
	return port, nil
}

// proxyPassword is that of all proxies of this process: what shows a server's output must know it
// before a server starts. A server reaches its own proxy only, as each has a port of its own.
var proxyPassword = sync.OnceValue(egress.NewProxyPassword)

// SessionSecrets returns what every server of this process may hold besides the secrets of its
// policy: no output must show it.
func SessionSecrets() []policy.Variable {
	return []policy.Variable{{Name: "HTTP_PROXY", Value: proxyPassword(), Secret: true}}
}

// Process is a program in its jail.
type Process struct {
	plan   *Plan
	server *mac.Process // set before Start returns
	temp   string       // its TMPDIR, to be removed
	done   chan struct{}

	gateway     *egress.Gateway      // nil if no host is granted
	interceptor *gateway.Interceptor // nil if no rule concerns requests

	mu       sync.Mutex
	notices  []Notice // before OnNotice was called
	onNotice func(Notice)
	exit     Exit
	why      string // see Exit: always "" here
	killed   bool   // Kill was called
}

// wait records the end of the program, after which nothing is left of its process group.
func (p *Process) wait() {
	ws := p.server.Wait()
	p.mu.Lock()
	if p.exit = (Exit{Code: ws.ExitStatus()}); ws.Signaled() {
		p.exit = Exit{Code: 128 + int(ws.Signal()), Signal: ws.Signal()}
	}
	p.mu.Unlock()
	p.cleanUp()
	close(p.done)
}

// cleanUp ends the network of a session, and removes what its start made.
func (p *Process) cleanUp() {
	gateway.Close(p.gateway, p.interceptor)
	jail.RemoveTree(p.temp)
}

// PID returns the process ID of the program.
func (p *Process) PID() int { return p.server.PID }

// Signal sends a signal to the program. SIGKILL ends the whole jail.
func (p *Process) Signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok || s <= 0 {
		return syscall.EINVAL
	}
	if s == syscall.SIGKILL {
		p.server.Kill()
		return nil
	}
	return p.server.Signal(s)
}

// Denials returns the refusals that are known so far: those of the gateway. Seatbelt tells of none.
func (p *Process) Denials() []policy.Denial {
	if p.gateway == nil {
		return nil
	}
	return p.gateway.Denials()
}

// HostFailures returns the granted hosts that this machine could not reach, the latest last.
func (p *Process) HostFailures() []policy.HostFailure {
	if p.gateway == nil {
		return nil
	}
	return p.gateway.HostFailures()
}

// Unanswered returns nil: the server has no loopback of its own.
func (*Process) Unanswered(time.Time) []policy.Unanswered { return nil }

// Listening knows nothing: the server has no network of its own.
func (*Process) Listening() (ports []int, known bool) { return nil, false }

// KeepCall does nothing: no file is kept here before the server changes it.
func (*Process) KeepCall(bool) error { return nil }
