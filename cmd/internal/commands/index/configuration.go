package index

import (
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A ConfigurationProblem is a fault of the configuration because of which servers do not start.
type ConfigurationProblem struct {
	File    string
	Line    int      // 0 if the whole file is meant
	What    string   // with file and line
	Effect  string   // which servers do not start, as a part of a sentence
	Fix     string   // "" if What says it
	Command string   // of Fix
	Entries []string // the entries of clients that choose the file; nil if each server of the configuration reads it
}

// ConfigurationProblems returns the faults of the configuration in the working directory, and of the
// configurations that the entries of clients choose by --config, --workspace or their directory.
func (x *Index) ConfigurationProblems() []ConfigurationProblem {
	var all []ConfigurationProblem
	looked := map[string][]ConfigurationProblem{}
	look := func(o config.LoadOptions, name string) {
		key := o.Workspace + "\x00" + strings.Join(o.Files, "\x00")
		found, ok := looked[key]
		if !ok && len(looked) == maxLooked {
			return // a project may bring any number of entries
		}
		if !ok {
			found = problemsOf(o, x.Host)
			looked[key] = found
		}
		for _, p := range found {
			at := slices.IndexFunc(all, func(o ConfigurationProblem) bool { return o.What == p.What })
			switch {
			case at < 0 && name != "":
				p.Entries = []string{name}
				fallthrough
			case at < 0:
				all = append(all, p)
			case all[at].Entries != nil && !slices.Contains(all[at].Entries, name):
				all[at].Entries = append(all[at].Entries, name)
			}
		}
	}
	look(config.LoadOptions{Workspace: x.Host.Dir}, "")
	for _, s := range x.Servers {
		for _, e := range s.Entries {
			if o, ok := x.chosenConfiguration(e); ok {
				look(o, e.Server)
			}
		}
	}
	return all
}

// Warning returns the problem as a warning of its own, for one with a Fix.
func (p ConfigurationProblem) Warning() string {
	return show.Line(p.What) + ", and " + p.Effect + ": " + p.Fix
}

// chosenConfiguration returns which configuration an entry reads that starts a server of it by name.
func (x *Index) chosenConfiguration(e *Entry) (o config.LoadOptions, ok bool) {
	if e.flags == nil || e.err != nil || e.line.Argv != nil || slices.ContainsFunc(e.line.Flags, e.File.References) || !e.Verdict().Jailed && !e.Verdict().Unclear {
		return o, false // a command after -- reads the usual files
	}
	if len(e.flags.Config) > 0 {
		o.Files, ok = absoluteFrom(e.File.StartDir(e.Entry, x.clients), x.Host.Home, e.flags.Config)
		return o, ok
	}
	o.Workspace = x.configDir(e)
	return o, o.Workspace != ""
}

// maxLooked bounds the configurations that are read for one report.
const maxLooked = 50

func absoluteFrom(dir, home string, names []string) (paths []string, ok bool) {
	for _, name := range names {
		if rest, ok := hostfs.CutHome(runtime.GOOS, name); ok {
			name = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(name) {
			if dir == "" {
				return nil, false
			}
			name = filepath.Join(dir, name)
		}
		paths = append(paths, name)
	}
	return paths, true
}

// configDir returns the directory in which the start of an entry looks for a project's file, or "" if only the client
// knows.
func (x *Index) configDir(e *Entry) string {
	dir, w := e.File.StartDir(e.Entry, x.clients), e.flags.Workspace
	switch _, inHome := hostfs.CutHome(x.clients.OS, w); {
	case w == "":
		return dir
	case filepath.IsAbs(w) || w == "~" || inHome:
		return w
	case dir == "":
		return ""
	default:
		return filepath.Join(dir, w)
	}
}

func problemsOf(o config.LoadOptions, host hostfs.Host) (all []ConfigurationProblem) {
	_, ignored, err := session.LoadTrusted(o, host)
	if ignored != nil {
		why := " is not trusted"
		if ignored.Changed {
			why = " has changed since it was trusted"
		}
		all = append(all, ConfigurationProblem{File: ignored.File, What: ignored.File + why,
			Effect: "the servers that it or the configuration declares do not start in its directory", Command: show.Typed("mcp-jail trust", ignored.File)})
		all[0].Fix = "`" + all[0].Command + "` shows it and asks"
	}
	effect := "the servers that the configuration declares do not start"
	if len(o.Files) > 0 {
		effect = "the servers that it declares do not start"
	} else if _, err := config.LoadDefaults(o); err != nil { // every start reads these
		effect = "the servers in the jail do not start, those of your clients included"
	}
	var problems policy.Problems
	switch {
	case err == nil:
	case errors.As(err, &problems):
		for _, p := range problems {
			all = append(all, ConfigurationProblem{File: p.File, Line: p.Line, What: p.Error(), Effect: effect})
		}
	default:
		all = append(all, ConfigurationProblem{What: err.Error(), Effect: effect})
	}
	return all
}
