package session

import (
	"errors"
	"fmt"
	"io"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/observed"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/watch"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Watch has a launcher report what the server does, if the session is watched. The caller closes what it
// returns.
func (f *Followed) Watch(launcher *confine.Launcher) (io.Closer, error) {
	t := f.Target()
	if !t.watch.Learns() {
		return io.NopCloser(nil), nil
	}
	w, err := observed.Create(t.Host, t.Policy.KeptName(), observed.Head{Learns: true, Hosts: t.watch.Hosts()})
	if err != nil {
		return nil, fmt.Errorf("what is observed of server %q cannot be kept: %w", t.Policy.Server, err)
	}
	f.watcher = w
	launcher.Observe = w.Add
	if !t.watch.AsksHosts() {
		return w, nil
	}
	asker, err := watch.NewAsker(t.Policy.Server)
	if err != nil {
		w.Close()
		return nil, &exit.HostError{Err: err}
	}
	launcher.AskHost = asker.Ask
	return closers{w, asker}, nil
}

type closers []io.Closer

// Close closes all.
func (c closers) Close() (err error) {
	for _, one := range c {
		err = errors.Join(err, one.Close())
	}
	return err
}

// closesNetwork reports whether a process of a session gets a network that is closed, and in which what it
// asks for is noted.
func (f *Followed) closesNetwork(p *policy.Profile) bool {
	return f.watcher != nil && len(p.Net) == 0 && !f.Target().watch.AsksHosts()
}

// watched returns a process that tells which call it serves, if the session is watched.
func (f *Followed) watched(p *confine.Process) lifecycle.Process {
	if f.watcher == nil {
		return p
	}
	return &watchedProcess{Process: p, to: f.watcher}
}

type watchedProcess struct {
	*confine.Process
	to *observed.Writer
}

// CallBegins implements lifecycle.CallObserver: what the process does from here on belongs to a call.
func (p *watchedProcess) CallBegins(tool string, _ bool) {
	p.ObserveAfresh() // when it returns, what came before the call is noted
	p.to.CallBegins(tool)
}

// FromRun resolves the server of a command line of mcp-jail run, whose words begin with run.
func FromRun(argv []string) (*Target, error) {
	args, server := cmdline.Split(programs.Main, argv)
	flags, err := cmdline.ParseRun(args)
	if err != nil {
		return nil, exit.UsageErrorf("%s", err)
	}
	return Resolve(flags.ConfigFlags, flags.PolicyFlags, flags.Server, "", server)
}

// Bare returns the profile of the server with an access table that grants nothing, and no other program.
func Bare(t *Target) (*policy.Profile, error) {
	p := *t.Policy
	p.Default, p.Fs, p.Net, p.Inbound, p.Env, p.Commands = false, []policy.FsRule{}, []policy.NetRule{}, nil, nil, []policy.CommandRule{}
	bare, _, err := resolve.Resolve(&p, t.Host)
	return bare, err
}

// Given returns the command line of the server as the user wrote it.
func Given(t *Target) []string { return t.givenCommand() }
