package confine

import (
	"context"
	"os"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/winjail"
	"github.com/mcp-jail/mcp-jail/confine/internal/winproof"
)

// Die ends this process with the status of the program.
func (e Exit) Die() { os.Exit(e.Code) }

// RunSupervisor makes an attempt of the self-test and never returns, if this process was started for that.
// Otherwise it returns at once. Call it first thing in main.
func RunSupervisor() { winproof.Serve() }

// start carries out a plan. The process is made in its job, and runs once Windows has confirmed what
// confines it.
func (*Prepared) start(ctx context.Context, plan *Plan, stdio Stdio, l Launcher) (*Process, error) {
	if l.BeforeExec != nil && ctx.Err() == nil {
		if err := l.BeforeExec(ctx); err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	switch ctx.Err() {
	case nil:
	case context.DeadlineExceeded:
		return nil, late(ctx)
	default:
		return nil, ctx.Err()
	}
	in, o := plan.Windows, plan.Spec
	if err := makeOwnDirs(in.Home, in.Temp); err != nil {
		return nil, step.Wrap(winjail.StepDirectory, err)
	}
	p := &Process{plan: plan, done: make(chan struct{})}
	var err error
	p.started, err = winjail.Start(winjail.Command{
		Program: o.Program, Argv: o.Argv, Env: o.Env, Dir: o.Dir, Stdio: [3]*os.File{stdio.In, stdio.Out, stdio.Err}, Tell: func(r winjail.Report) { recordLimit(p, r) },
	}, *in)
	if err != nil {
		jail.RemoveTree(in.Temp)
		return nil, err
	}
	go p.wait()
	return p, nil
}

// makeOwnDirs makes the private HOME, if there is one, and the TEMP of one session, which does not exist
// yet. Both have the access rights of the directory around them, which is the user's own.
func makeOwnDirs(home, temp string) error {
	if home != "" {
		for _, dir := range []string{home, filepath.Join(home, "AppData", "Roaming"), filepath.Join(home, "AppData", "Local")} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
	}
	return os.Mkdir(temp, 0o700)
}
