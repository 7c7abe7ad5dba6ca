package confine

import (
	"context"
	"os"

	"github.com/mcp-jail/mcp-jail/confine/internal/dirs"
	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/selftest"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// RunSupervisor does the work of the first program in a jail, of its watcher, or of the self-test, and
// never returns if this process was started as one of them. Otherwise it returns at once. Call it first
// thing in main.
func RunSupervisor() {
	selftest.Serve()
	sandboxexec.Main()
}

// start carries out a plan.
func (*starter) start(ctx context.Context, plan *Plan, stdio Stdio, l Launcher) (*Process, error) {
	made, err := dirs.Make(plan.Profile)
	if err != nil {
		return nil, err
	}
	own := *plan // its spec gets what this start adds: the plan stays as it is
	p := &Process{plan: &own, done: make(chan struct{})}
	if err = p.launch(ctx, l, stdio); err != nil {
		p.cleanUp()
		dirs.Remove(made)
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
		return &step.Error{Step: step.Spec, Detail: "the plan is for another system"}
	}
	if p.interceptor, err = gateway.StartTLS(ctx, plan, &plan.Spec, l.runTLS(plan.Profile), p.tellOfTLS); err != nil {
		return err
	}
	input := *plan.Seatbelt
	if input.Self, err = ownProgram(l.SupervisorPath); err != nil {
		return err
	}
	if policy.Write&plan.Profile.RightsAt(input.Self) != 0 {
		return &step.Error{Step: step.Spec, Detail: "the policy lets the server change mcp-jail's own program " + input.Self}
	}
	if input.ProxyPort, err = p.openNetwork(&plan.Spec, l.runTLS(plan.Profile)); err != nil {
		return err
	}
	text, err := seatbelt.Compile(input)
	if err != nil {
		return &step.Error{Step: step.Spec, Detail: err.Error()}
	}
	if l.BeforeExec != nil {
		if err := l.BeforeExec(ctx); err != nil {
			return err
		}
	}
	note, err := sandboxexec.MakePrivate(&plan.Spec)
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
	p.server, err = sandboxexec.Start(ctx, sandboxexec.Command{Text: text, Self: input.Self, Spec: &plan.Spec, Stdio: [3]*os.File{stdio.In, stdio.Out, stdio.Err}})
	return err
}

// ownProgram returns the real path of the program that becomes the server inside: the profile names it, and
// the policy is asked about it.
func ownProgram(path string) (string, error) {
	var err error
	if path == "" {
		if path, err = os.Executable(); err != nil {
			return "", step.Wrap("init", err)
		}
	}
	real, _, err := hostfs.ResolveLinks(path)
	if err != nil {
		return "", step.Wrap("init", step.On(path, err))
	}
	return real, nil
}
