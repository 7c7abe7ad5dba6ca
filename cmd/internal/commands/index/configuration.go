package index

import (
	"errors"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A ConfigurationProblem is a fault of the configuration because of which servers do not start.
type ConfigurationProblem struct {
	File    string
	Line    int    // 0 if the whole file is meant
	What    string // with file and line
	Effect  string // which servers do not start, as a part of a sentence
	Fix     string // "" if What says it
	Command string // of Fix
}

// Warning returns the problem as a warning of its own, for one with a Fix.
func (p ConfigurationProblem) Warning() string {
	return show.Line(p.What) + ", and " + p.Effect + ": " + p.Fix
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

// ConfigurationProblems returns the faults of the configuration in the working directory.
func (x *Index) ConfigurationProblems() (all []ConfigurationProblem) {
	o := config.LoadOptions{Workspace: x.Host.Dir}
	_, ignored, err := session.LoadTrusted(o, x.Host)
	if ignored != nil {
		why := " is not trusted"
		if ignored.Changed {
			why = " has changed since it was trusted"
		}
		command := show.Typed("mcp-jail trust", ignored.File)
		all = append(all, ConfigurationProblem{File: ignored.File, What: ignored.File + why, Command: command, Fix: "`" + command + "` shows it and asks",
			Effect: "the servers that it or the configuration declares do not start in its directory"})
	}
	effect := "the servers that the configuration declares do not start"
	if _, err := config.LoadDefaults(o); err != nil { // every start reads these
		effect = "the servers in the jail do not start, those of your clients included"
	}
	var problems policy.Problems
	if !errors.As(err, &problems) && err != nil {
		all = append(all, ConfigurationProblem{What: err.Error(), Effect: effect})
	}
	for _, p := range problems {
		all = append(all, ConfigurationProblem{File: p.File, Line: p.Line, What: p.Error(), Effect: effect})
	}
	return all
}
