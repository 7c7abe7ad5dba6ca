package session

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// A ProgramError reports that PATH has another program for a name in the line of a server than at its last start, in a
// place where a server may write.
type ProgramError struct {
	Server      string
	Name        string // that PATH was asked for
	Before, Now string // paths
	Why         string // who may change the new one
}

func (e *ProgramError) Error() string {
	return show.Name(e.Server) + ": " + e.cause() + "\n" + strings.Join(e.lines(), "\n") + "\n" + e.fix()
}

func (e *ProgramError) cause() string {
	return "PATH has another program for " + show.Name(e.Name) + " than at its last start, and " + show.Line(e.Why)
}

func (e *ProgramError) lines() []string {
	return []string{"  before:  " + show.Line(e.Before), "  now:     " + show.Line(e.Now)}
}

func (e *ProgramError) fix() string {
	return "to start the new program from now on, if it is yours: mcp-jail wrap"
}

// takePrograms ends the start of a server with an id or a table if it would take another program: see ProgramError. It
// notes what the start takes; unnoted is why it could not.
func (t *Target) takePrograms(p *policy.Profile) (unnoted, err error) {
	now, err := t.programs(p)
	if now == nil {
		return nil, err
	}
	return records.NotePrograms(t.Host, t.Policy.KeptName(), *now), err
}

// programs returns what is to be noted of a start, or nil, and the error that ends it. The key of a line without an id has
// its program.
func (t *Target) programs(p *policy.Profile) (*records.Programs, error) {
	if t.Config == nil || t.trial != nil || p == nil {
		return nil, nil
	}
	noted, err := records.ProgramsOf(t.Host, t.Policy.KeptName())
	if err != nil {
		return nil, &terminal.HostError{Err: err}
	}
	if isTaken(p.InPath, noted) {
		return nil, nil
	}
	now := noted.With(p.InPath, func(before string) bool { return t.whyChangeable(p, before) != "" })
	for _, name := range slices.Sorted(maps.Keys(p.InPath)) {
		file, before := p.InPath[name], noted.Taken[name]
		if before == nil || slices.Contains(before, file) {
			continue
		}
		if why := t.whyChangeable(p, file); why != "" {
			now = records.Programs{Taken: noted.Taken, Refused: p.InPath}
			err = terminal.UsageErrorf("%w", &ProgramError{t.Policy.Server, name, before[0], file, why})
			break
		}
	}
	return &now, err
}

// isTaken reports whether all that PATH has was noted as that of the last start.
func isTaken(inPath map[string]string, noted records.Programs) bool {
	for name, file := range inPath {
		if taken := noted.Taken[name]; taken == nil || taken[0] != file {
			return false
		}
	}
	return noted.Refused == nil
}

// FindPrograms returns what PATH has for a command line, with the variables of this process.
func FindPrograms(argv []string) map[string]string {
	host, err := hostfs.LocalHost()
	if err != nil {
		return nil // the start reports the error
	}
	return resolve.FindInPath(host, argv)
}

// whyChangeable returns why a program may be the work of a server, or of the author of the project, or "".
func (t *Target) whyChangeable(p *policy.Profile, file string) string {
	if why := t.Untrusted(file); why != "" || p.Workspace == "" || !policy.Within(file, p.Workspace) || t.Host.OS == "windows" {
		return why
	}
	return "it is in the project folder " + p.Workspace
}
