package pkgcmd

import (
	"errors"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
)

// named returns the package of a server, or that which a word names.
func (i *installCmd) named(x *index.Index, word string) (wanted, error) {
	if len(i.Config) > 0 {
		return i.configured(word)
	}
	s, err := x.Pick(word, func(s *index.Server) bool { return s.Table != nil || s.Kept != nil || s.File != nil })
	var ambiguous *index.AmbiguousError
	switch {
	case errors.As(err, &ambiguous):
		return wanted{}, err
	case err != nil:
		return wanted{}, terminal.UsageErrorf("%s\nA package that was not installed yet: %s", err, show.Typed("mcp-jail install -- npx -y", word))
	case s.Table != nil:
		return i.configured(s.Table.Name)
	}
	argv := s.Words
	if s.Kept != nil {
		for _, e := range s.Kept.Pins {
			if line := x.Stored.Line(s.Kept, e); line != nil {
				argv = line
				break
			}
		}
	}
	if argv == nil {
		return wanted{}, terminal.UsageErrorf("the line of %s is not known: start it once", s.Title())
	}
	return i.kept(x, argv)
}

// addPinned adds the pinned packages whose lines are not among others. Clients start their
// servers without a configuration.
func (i *installCmd) addPinned(x *index.Index, all []wanted) ([]wanted, error) {
	if x.StoredErr != nil {
		return nil, x.StoredErr
	}
	var known []store.Key
	for _, w := range all {
		known = append(known, installed.Key(&w.line, &x.Host))
	}
	for _, s := range x.Stored.Servers {
		for _, e := range s.Pins {
			argv := x.Stored.Line(s, e)
			if argv == nil || slices.Contains(known, e.Key) {
				continue
			}
			known = append(known, e.Key)
			w, err := i.kept(x, argv)
			if err != nil {
				return nil, err
			}
			all = append(all, w)
		}
	}
	return all, nil
}

// kept returns the package of a line that mcp-jail knows. What an entry of the user's clients waives
// for that line counts.
func (i *installCmd) kept(x *index.Index, argv []string) (wanted, error) {
	own := *i
	own.Waive = slices.Concat(i.Waive, entryWaivers(x, argv))
	w, err := own.typed(argv)
	w.own = true // the lock file has it for the user's own lines
	return w, err
}

// entryWaivers returns what an entry with the package of a line waives: the longest list of those of
// the user's own.
func entryWaivers(x *index.Index, argv []string) (longest []string) {
	line, err := runline.Parse(argv)
	if err != nil {
		return nil
	}
	for _, server := range x.Servers {
		for _, e := range server.Entries {
			of, err := runline.Parse(e.Line().Argv)
			if err != nil || e.File.IsProject() || installed.Key(&of, &x.Host) != installed.Key(&line, &x.Host) {
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
