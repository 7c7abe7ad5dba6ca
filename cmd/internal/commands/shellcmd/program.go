package shellcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/statement"
)

// systemShell is on every system.
const systemShell = "/bin/sh"

// usersShell returns the shell of the user.
func usersShell() string {
	if shell := os.Getenv("SHELL"); filepath.IsAbs(shell) {
		return shell
	}
	return systemShell
}

// terminalKind returns the kind of the user's terminal.
func terminalKind() string { return os.Getenv("TERM") }

// guest returns the program that runs in the jail.
func (s *shellCmd) guest(t *session.Target) (g session.Guest, err error) {
	name := show.Name(t.Policy.Server)
	if s.command != nil {
		if g.Program = session.LookUp(t.Profile, s.command[0]); g.Program == "" {
			return g, fmt.Errorf("the jail of %s has no program %s that it may execute", name, show.Quote(s.command[0]))
		}
		g.Argv = s.command
		return g, nil
	}
	for _, shell := range []string{usersShell(), systemShell} {
		if g.Program = session.LookUp(t.Profile, shell); g.Program != "" {
			g.Argv = []string{filepath.Base(shell)}
			return g, nil
		}
	}
	if t.Profile.Programs != nil {
		return g, exit.UsageErrorf("the policy of %s lists the programs that it may start, and no shell is among them. One of these:  mcp-jail shell %s -- PROGRAM", name, name)
	}
	return g, fmt.Errorf("the jail of %s may execute neither %s nor %s", name, show.Line(usersShell()), systemShell)
}

// describe returns a line about the jail: what is open in it, and how to leave it.
func describe(t *session.Target) string {
	s := statement.New(t.Profile)
	var writes, reads, hosts []string
	for _, f := range s.Fs {
		place := show.Line(terminal.ShortHome(f.Path, t.Host.Home))
		if f.Path == s.Home {
			place = "its HOME"
		}
		if slices.Contains(f.Rights, "create") || slices.Contains(f.Rights, "update") || slices.Contains(f.Rights, "delete") {
			writes = append(writes, place)
		} else {
			reads = append(reads, place)
		}
	}
	for _, h := range s.Net.Hosts {
		if !slices.Contains(hosts, show.Line(h.Host)) {
			hosts = append(hosts, show.Line(h.Host))
		}
	}
	what := "a shell in the jail of " + show.Name(s.Server)
	if t.Policy.FromCommandLine && t.File() == "" && len(t.Policy.Arguments) == 0 && t.Policy.Command == usersShell() {
		what = "a shell in a jail"
	}
	if s.Tool != "" {
		what += ", tool " + show.Name(s.Tool)
	}
	return what + ". It may write: " + few(writes) + ". Read: " + few(append(reads, "what every program needs")) + ". Reach: " + few(hosts) + ". exit or Ctrl-D leaves it"
}

// few returns the first of some names, and how many more there are.
func few(names []string) string {
	const most = 4
	switch n := len(names); {
	case n == 0:
		return "nothing"
	case n > most:
		return strings.Join(names[:most-1], ", ") + fmt.Sprintf(" and %d more", n-most+1)
	}
	return strings.Join(names, ", ")
}
