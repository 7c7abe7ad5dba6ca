package confine

import (
	"context"
	"os"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/winjail"
	"github.com/mcp-jail/mcp-jail/confine/internal/winproof"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A start in a job has one kind of jail, and nothing of it is found out by a first try.
func refusedNamespaces(err error) (features.Feature, error) { return features.Feature{}, err }

func (l Launcher) probeOverlays(*policy.Profile) map[string]features.Feature { return nil }

func cachedOverlays(*policy.Profile) map[string]features.Feature { return nil }

func overlayRefused(*policy.Profile, error) bool { return false }

// Die ends this process with the status of the program.
func (e Exit) Die() { os.Exit(e.Code) }

// Undumpable does nothing here: Windows lets every program of the user read this one's memory.
func Undumpable() error { return nil }

// CanPoll does nothing here: nothing is known to refuse a poller.
func CanPoll() error { return nil }

// RunSupervisor makes an attempt of the self-test and never returns, if this process was started for that.
// Otherwise it returns at once. Call it first thing in main.
func RunSupervisor() { winproof.Serve() }

// Prepared is nothing: no process is started ahead.
type Prepared struct{}

// Prepare does nothing here.
func (l Launcher) Prepare() *Prepared { return nil }

// Close does nothing here.
func (*Prepared) Close() {}

func (l Launcher) claim(bool) *Prepared { return nil }

func (*Prepared) cancel() {}

// start carries out a plan. The process is made in its job, and runs once Windows has confirmed what
// confines it.
func (*Prepared) start(ctx context.Context, plan *Plan, stdio Stdio, l Launcher) (*Process, error) {
	if stdio.Terminal != nil {
		return nil, &step.Error{Step: step.Terminal, Detail: "on Windows a server gets no terminal of its own"}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l.BeforeExec != nil {
		if err := l.BeforeExec(ctx); err != nil {
			return nil, err
		}
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
