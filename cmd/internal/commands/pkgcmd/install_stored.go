package pkgcmd

import (
	"errors"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func (i *installCmd) named(host hostfs.Host, name string) (wanted, error) {
	w, err := i.configured(name)
	var unknown *config.UnknownServerError
	if !errors.As(err, &unknown) || len(i.Config) > 0 {
		return w, err
	}
	x, readErr := index.Read()
	if readErr != nil {
		return w, readErr
	}
	all, keptErr := index.KnownStored(host)
	if keptErr != nil {
		return w, keptErr
	}
	of, pickErr := x.Pick(name, func(s *index.Server) bool { return s.Table != nil || s.Kept != nil || s.File != nil })
	var ambiguous *index.AmbiguousError
	switch {
	case errors.As(pickErr, &ambiguous):
		if of = withOnePin(ambiguous.Servers); of == nil {
			return w, pickErr
		}
	case pickErr != nil:
		return w, err
	case of.Table != nil && of.Table.Name != name:
		return i.configured(of.Table.Name)
	}
	s := all.Server(of.Key)
	if s == nil {
		if of.Words != nil {
			return i.kept(host, of.Words)
		}
		return w, err
	}
	for _, e := range s.Pins {
		if argv := all.Line(s, e); argv != nil {
			return i.kept(host, argv)
		}
	}
	if len(s.About.Command) > 0 {
		return i.kept(host, s.About.Command)
	}
	return w, err
}

// withOnePin returns the first of several servers that share one pin, and nil if they do not.
func withOnePin(all []*index.Server) *index.Server {
	for _, s := range all {
		if s.Kept == nil || len(s.Kept.Pins) != 1 || all[0].Kept == nil || s.Kept.Pins[0].Key != all[0].Kept.Pins[0].Key {
			return nil
		}
	}
	return all[0]
}

// pinned returns the pinned packages whose lines are not among others. Clients start their
// servers without a configuration.
func (i *installCmd) pinned(host hostfs.Host, others []wanted) (more []wanted, err error) {
	all, err := index.KnownStored(host)
	if err != nil {
		return nil, err
	}
	var known []store.Key
	for _, w := range others {
		known = append(known, installed.Key(&w.line, &host))
	}
	for _, s := range all.Servers {
		for _, e := range s.Pins {
			argv := all.Line(s, e)
			if argv == nil || slices.Contains(known, e.Key) {
				continue
			}
			known = append(known, e.Key)
			w, err := i.kept(host, argv)
			if err != nil {
				return nil, err
			}
			more = append(more, w)
		}
	}
	return more, nil
}

// kept returns the package of a line that mcp-jail knows. What an entry of the user's clients waives
// for that line counts.
func (i *installCmd) kept(host hostfs.Host, argv []string) (wanted, error) {
	own := *i
	own.Waive = slices.Concat(i.Waive, entryWaivers(host, argv))
	w, err := own.typed(argv)
	w.own = true // the lock file has it for the user's own lines
	return w, err
}

// entryWaivers returns what an entry with the package of a line waives: the longest list of those of
// the user's own.
func entryWaivers(host hostfs.Host, argv []string) (longest []string) {
	line, err := runline.Parse(argv)
	if err != nil {
		return nil
	}
	x, err := index.Read()
	if err != nil {
		return nil // then the flags alone count
	}
	for _, server := range x.Servers {
		for _, e := range server.Entries {
			of, err := runline.Parse(e.Line().Argv)
			if err != nil || e.File.IsProject() || installed.Key(&of, &host) != installed.Key(&line, &host) {
				continue
			}
			var has []string
			for _, a := range index.HasWaivers(server.File, e.Line()) {
				has = append(has, string(a))
			}
			if len(has) > len(longest) {
				longest = has
			}
		}
	}
	return longest
}

func (i *installCmd) typed(argv []string) (wanted, error) {
	line, err := runline.Parse(argv)
	if errors.Is(err, runline.ErrNotLauncher) {
		return wanted{}, terminal.UsageErrorf("%s fetches no package, so there is nothing to install. What does: %s", argv[0], launchers)
	}
	if err != nil {
		return wanted{}, terminal.UsageErrorf("%s. Nothing is installed for it", err)
	}
	load := func() (*session.Target, error) {
		return session.Load(cmdline.ConfigFlags{Waive: i.Waive}, i.flags, "", "", cmdline.Server{Given: true, Argv: argv})
	}
	waive, err := cmdline.ParseWaivers("--waive", i.Waive)
	if err == nil {
		_, err = load()
	}
	return wanted{name: line.Packages[0].String(), asked: session.AskedLine(waive, argv, &line), line: line, load: load}, err
}
