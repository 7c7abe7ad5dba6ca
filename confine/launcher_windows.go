package confine

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/winjail"
)

// Die ends this process with the status of the program.
func (e Exit) Die() { os.Exit(e.Code) }

// RunSupervisor does nothing here: a job needs no supervisor.
func RunSupervisor() {}

// start carries out a plan. The process runs once it is in its job.
func (*starter) start(ctx context.Context, plan *Plan, stdio Stdio, l Launcher) (*Process, error) {
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
	home := ""
	if plan.Profile.HomePrivate {
		home = plan.Profile.Home
	}
	o := plan.Spec
	if err := makeOwnDirs(home, o.TempDir); err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: o.Program, Args: o.Argv, Env: o.Env, Dir: o.Dir}
	if stdio.In != nil {
		cmd.Stdin = stdio.In
	}
	if stdio.Out != nil {
		cmd.Stdout = stdio.Out
	}
	if stdio.Err != nil {
		cmd.Stderr = stdio.Err
	}
	started, err := winjail.Start(cmd, winjail.Limits{Processes: o.Limits.Processes, MemoryMB: o.Limits.MemoryMB})
	if err != nil {
		jail.RemoveTree(o.TempDir)
		return nil, err
	}
	p := &Process{plan: plan, started: started, done: make(chan struct{})}
	go p.wait()
	return p, nil
}

// makeOwnDirs makes the private HOME, if there is one, and the TEMP of one session, which does not exist
// yet. Both have the access rights of the directory around them, which is the user's own, and the label
// without which the server could not write there.
func makeOwnDirs(home, temp string) error {
	if home != "" {
		for _, dir := range []string{home, filepath.Join(home, "AppData", "Roaming"), filepath.Join(home, "AppData", "Local")} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return step.Wrap(winjail.StepDirectory, err)
			}
		}
		if err := winjail.LetWrite(home); err != nil {
			return step.Wrap(winjail.StepLabel, step.On(home, err))
		}
	}
	if err := os.Mkdir(temp, 0o700); err != nil {
		return step.Wrap(winjail.StepDirectory, err)
	}
	if err := winjail.LetWrite(temp); err != nil {
		return step.Wrap(winjail.StepLabel, step.On(temp, err))
	}
	return nil
}
