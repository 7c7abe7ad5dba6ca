package diagnostics

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Arguments returns a warning, before a start, about paths among a server's arguments, or in its
// granted variables, that exist on the host and that the policy does not let the server read, with
// the rules that would grant them. It returns "" when there are none. It uses the profile and the host
// functions of the evidence. tools are the profiles of a stateless server's tools; a path
// that one of them may read is left out.
func Arguments(ev Evidence, tools ...*policy.Profile) string {
	if ev.Profile == nil {
		return ""
	}
	a := facts.New(&ev)
	var names, careful, where []string
	var wanted []grants.Grant
	for _, n := range paths.Ungranted(a) {
		path, what := n.Path, "arguments"
		if slices.ContainsFunc(tools, func(p *policy.Profile) bool { return p.Allows(policy.OpRead, path) }) {
			continue
		}
		name := a.Show(path)
		if n.Variable != "" {
			name, what = name+" ("+show.Line(n.Variable)+")", "variables"
		}
		if names = append(names, name); !slices.Contains(where, what) {
			where = append(where, what)
		}
		if paths.IsTooWide(a, path) {
			careful = append(careful, "grant what the server needs in "+a.Show(path)+", not all of it")
			continue
		}
		f := proposable(a, paths.AttributeNamed(a, Certain, n, ""))
		if f.Grant.IsZero() {
			careful = append(careful, f.Fix)
			continue
		}
		wanted = append(wanted, f.Grant)
		if f.Hint.Warning != "" {
			careful = append(careful, "careful: "+f.Hint.Warning)
		}
	}
	if len(names) == 0 {
		return ""
	}
	said := "the server cannot reach what its " + strings.Join(where, " and ") + " name, since that is not granted: " + strings.Join(names, ", ")
	if ev.Stateless {
		return said + "; grant it to the tools that need it" + PagePathArg.Reference()
	}
	for _, part := range append([]string{grantPhrase(a, wanted)}, careful...) {
		if part != "" {
			said += "; " + part
		}
	}
	return said + PagePathArg.Reference()
}

// analyzeArguments looks in the text of a failed start for paths among the arguments that
// the jail hides. Their names are known, so it finds them even if no pattern tells where
// a path ends.
func analyzeArguments(c *facts.Case, lines []string) (all candidates) {
	if c.Evidence.Stage != StageStartup || len(c.Profile.Argv) < 2 {
		return nil
	}
	for at, line := range lines {
		if f, _ := said.MatchFault(line); f == said.NoFault || f == said.Network {
			continue
		}
		for _, arg := range c.Profile.Argv[1:] {
			path := paths.ArgumentPath(c, arg)
			if written, _ := c.Absolute(arg); path == "" || paths.IsTooWide(c, path) || !strings.Contains(line, path) && !strings.Contains(line, written) {
				continue
			}
			f := paths.Attribute(c, Likely, path, policy.Read, false, "the server did not find "+c.Show(path)+", which exists on the host but is not granted")
			all.add(candidate{Finding: f, distance: at, named: true})
		}
	}
	for _, n := range paths.Moved(c) {
		for at, line := range lines {
			if strings.Contains(line, n.Inside) || strings.Contains(line, n.Word) && !strings.Contains(line, n.Path) {
				all.add(candidate{Finding: paths.AttributeMoved(c, Likely, n), distance: at, named: true})
				break
			}
		}
	}
	return all
}

func grantPhrase(c *facts.Case, wanted []grants.Grant) string {
	words := c.Writer.Words(wanted)
	command, ok := show.TypedOK("mcp-jail grant", c.Evidence.Server)
	if len(words) == 0 || !ok {
		return ""
	}
	text := "to allow that: " + command + " " + strings.Join(grants.Typed(words), " ")
	if slices.ContainsFunc(wanted, func(n grants.Grant) bool { return n.Path != "" && n.Rights&policy.Write == 0 }) {
		text += " (--write, where it has to change something there)"
	}
	return text
}

// Complaint returns the diagnosis for a server that has started and reported on stderr
// that it lacks access to something. ok is false if no likely cause is found with a grant,
// or with what the user can write for a sensitive path. Only text counts: denials during a start are common and are ignored.
func Complaint(ev Evidence) (d Diagnosis, ok bool) {
	if !slices.ContainsFunc(ev.Stderr, said.MayNameFault) {
		return d, false
	}
	ev.Started, ev.Denials = true, nil
	d = Diagnose(ev)
	return d, d.Attribution == Likely && (len(d.Words) > 0 || d.NoLine && d.Explain == PageFsSensitive)
}

// Awaited returns the diagnosis for a server that runs and does not answer, because it waits for a
// connection that no port leads in. ok is false if that is not likely.
func Awaited(ev Evidence) (d Diagnosis, ok bool) {
	ev.Waiting, ev.Denials = true, nil
	d = Diagnose(ev)
	return d, d.Attribution == Likely && d.Explain == PageInbound
}

// MayAwait reports whether bytes of stderr may say that the server waits for a login.
func MayAwait(b []byte) bool { return said.MayAwait(b) }

// Tildes returns a warning about arguments that begin with "~/", or "". No shell replaces that, and
// mcp-jail does not either.
func Tildes(ev Evidence) string {
	if ev.Profile == nil || len(ev.Profile.Argv) < 2 || ev.UserHome == "" {
		return ""
	}
	a := facts.New(&ev)
	args := paths.TildeArguments(a)
	if args == nil {
		return ""
	}
	return paths.TildeText(a, args) + "; " + paths.TildeFix(a, args) + PagePathArg.Reference()
}

// RefusedSilently returns the diagnosis of a denial that no call has failed from, as far as is known.
// It uses the denials, the profile, and the fields that decide how advice is written.
func RefusedSilently(ev Evidence, denial policy.Denial) Diagnosis {
	ev.Stage, ev.Tool, ev.Method, ev.Text = StageCall, "", "", ""
	ev.Stderr, ev.RawStderr, ev.Unanswered, ev.HostFailures = nil, nil, nil, nil
	ev.Denials = []policy.Denial{denial}
	d := Diagnose(ev)
	d.Happened(report.SomethingBlocked(""))
	d.Tool = denial.Tool
	return d
}
