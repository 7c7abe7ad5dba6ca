package session

import (
	"errors"
	"fmt"
	"io"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/observed"
	"github.com/mcp-jail/mcp-jail/cmd/internal/tried"
	"github.com/mcp-jail/mcp-jail/cmd/internal/watch"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Watch has the processes of the session report what they do, if the session is watched. The caller closes what
// Watch returns.
func (f *Followed) Watch(launcher *confine.Launcher) (io.Closer, error) {
	t := f.Target()
	head := observed.Head{Learns: t.watch.Learns(), Lesson: t.watch.Discards(), Hosts: t.watch.Hosts()}
	switch {
	case head.Learns && t.tried != nil:
		return nil, exit.Advise(false, errors.New("--learn and --try both watch the server"), "leave one out")
	case t.tried != nil:
		head.Policy, head.Digest = t.tried.Name, t.tried.Digest()
	case !head.Learns:
		return io.NopCloser(nil), nil
	}
	w, err := observed.Create(t.Host, t.Policy.KeptName(), head)
	if err != nil {
		return nil, fmt.Errorf("what is observed of server %q cannot be kept: %w", t.Policy.Server, err)
	}
	if t.tried != nil {
		f.trial = tried.Begin(w)
		return f.trial, nil
	}
	f.watcher = w
	if !t.watch.AsksHosts() {
		return w, nil
	}
	return watch.Ask(t.Policy.Server, launcher, w)
}

// closesNetwork reports whether a process of a session gets a network that is closed, and in which what it
// asks for is noted.
func (f *Followed) closesNetwork(p *policy.Profile) bool {
	return f.watcher != nil && len(p.Net) == 0 && !f.Target().watch.AsksHosts()
}

// watch returns what a process with a profile is watched by, or nil.
func (f *Followed) watch(p *policy.Profile) watch.Watcher {
	switch t := f.Target(); {
	case f.watcher != nil:
		return f.watcher.Process()
	case f.trial != nil && t.tried != nil:
		return f.trial.Process(p, func() (*tried.Judge, error) { return JudgeOf(t, p) })
	}
	return nil
}

// Given returns the command line of the server as the user wrote it.
func Given(t *Target) []string { return t.givenCommand() }
