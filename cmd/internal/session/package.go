package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/fetching"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Package is the package of a server that npx, uvx or the like starts. Its methods take a nil
// Package for that of a server which no launcher starts.
type Package struct {
	line    runline.Line
	program *installed.Program // nil: the line runs as it is given
	asGiven error              // why program is nil
	env     []string           // NAME=value that the program gets

	given []string        // the line in words
	asked string          // the arguments of mcp-jail install for it
	dir   string          // the workspace, where the launcher would run
	host  *hostfs.Host    // its lock file
	rules policy.Packages // how the server's table has packages fetched and pinned
	waive []policy.Axis
	own   bool // the line is of the user's own
}

func (p *Package) notInstalled() string {
	var gone *installed.GoneError
	if errors.As(p.asGiven, &gone) {
		return gone.Error()
	}
	return p.line.Packages[0].String() + " is not installed yet"
}

// NeedsInstall reports whether run must install the package first.
func (p *Package) NeedsInstall() bool {
	return p != nil && errors.Is(p.asGiven, installed.ErrNotInstalled)
}

func (p *Package) scriptsCommand() string {
	e := p.Entry()
	if e == nil || e.ScriptsRan || !e.HasScripts() {
		return ""
	}
	return "mcp-jail install --install-scripts " + p.asked
}

// Text returns a line about the package, for check and plan. It is "" for a
// server that no launcher starts.
func (p *Package) Text() string {
	switch {
	case p == nil:
		return ""
	case p.program != nil:
		e := p.program.Entry
		return fmt.Sprintf("%s %s, pinned %s in %s: %s runs it without %s", e.Name, e.Version, e.Pinned.Local().Format(time.DateOnly), LockFile(*p.host), p.program.Command, p.line.Launcher)
	case p.NeedsInstall():
		return p.notInstalled() + ": the first start fetches it, or mcp-jail install does"
	}
	return p.asGiven.Error() // it says that the line runs as it is given
}

// notPinned says why the line of a launcher runs as it is given, or "".
func (p *Package) notPinned() string {
	var unclear *runline.NotUnderstoodError
	if p == nil || !errors.As(p.asGiven, &unclear) {
		return ""
	}
	return unclear.Error()
}

// Entry returns the pinned package whose program is run, or nil if the command runs as it is given.
func (p *Package) Entry() *lockfile.Entry {
	if p == nil || p.program == nil {
		return nil
	}
	return p.program.Entry
}

// Check returns an error if the files of the package are not those that were
// installed. The files are compared once. The first call waits for that, until ctx ends at the
// latest.
func (p *Package) Check(ctx context.Context) error {
	if p == nil || p.program == nil {
		return nil
	}
	err := p.program.Check(ctx)
	var changed *store.ChangedError
	if errors.As(err, &changed) {
		return &fetching.Error{Package: changed.ID.Name, Reason: changed.Error() + ". To install the pinned ones again: mcp-jail install " + p.asked + ". To accept what the registry has now: mcp-jail install --update " + p.asked}
	}
	return err
}

func (p *Package) use(in *policy.Policy) {
	if p.Entry() == nil {
		return
	}
	in.Command, in.Arguments = p.program.Command, p.program.Arguments
	if outer := p.line.Outer; len(outer) > 0 {
		in.Command, in.Arguments = outer[0], slices.Concat(outer[1:], []string{p.program.Command}, p.program.Arguments)
		in.Packages.Outer = len(outer)
	}
	in.Packages.Tree, in.Packages.Bin, in.Packages.Env = p.program.Dir, p.program.Bin, p.program.OwnEnv
	var own []policy.EnvRule
	for _, v := range p.env {
		name, _, _ := strings.Cut(v, "=")
		own = append(own, policy.EnvRule{Name: name, Read: true, Where: "the package " + p.program.Entry.Name})
	}
	in.Env = slices.Concat(in.Env, own)
	if in.Narrow != nil {
		in.Narrow.Env = slices.Concat(in.Narrow.Env, own)
	}
}
