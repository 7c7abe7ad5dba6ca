package tried

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// withheld returns the variables that rules of the policy in force grant, and those of the policy that is
// tried do not.
func (j *Judge) withheld(of *policy.Profile) (names []string) {
	for _, v := range of.Env {
		if v.Secret && !slices.ContainsFunc(j.Evidence.Profile.Env, func(w policy.Variable) bool { return w.Name == v.Name }) {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (j *Judge) what() string {
	return "the policy that is tried (" + j.Tried.Name + ") would have refused this"
}

// refuses returns the diagnosis of a refusal by the policy that is tried.
func (j *Judge) refuses(d policy.Denial) diagnostics.Diagnosis {
	ev := j.Evidence
	ev.File, ev.FromCommandLine = j.Tried.File, j.Tried.File == ""
	if j.Tried.File != "" { // lines have the name of the table there
		p := *ev.Profile
		p.Server = j.Tried.Server
		ev.Server, ev.Profile = p.Server, &p
	}
	// There is no line of a client for a policy that is only tried.
	ev.CommandLine, ev.Declare, ev.Try = nil, nil, nil
	found := diagnostics.RefusedSilently(ev, d)
	found.What, found.Server, found.Cause = j.what(), j.Evidence.Server, would(found.Cause)
	for i := range found.Hints {
		found.Hints[i].Cause = would(found.Hints[i].Cause)
	}
	return found
}

// would returns what a refusal is said to be, in the words for one that did not happen.
func would(cause string) string {
	rest, ok := strings.CutPrefix(cause, "the jail refused ")
	if !ok {
		return cause
	}
	return "it would have refused " + rest
}

// withholds returns a function that makes the diagnosis of a variable that the policy that is tried
// withholds.
func (j *Judge) withholds(of *policy.Profile, name string) func() diagnostics.Diagnosis {
	return func() diagnostics.Diagnosis {
		fix := "try it with --env " + show.Line(name) + " too"
		if j.Tried.File != "" {
			fix = "add " + show.TOML(name) + " to variables in [servers." + show.TOML(j.Tried.Server) + "] of " + show.Line(j.Tried.File)
		}
		return diagnostics.Diagnosis{
			Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: of.Server, Tool: of.Tool,
			What: j.what(), Cause: "the server gets the variable " + show.Line(name) + ", which that policy withholds", Fix: fix,
		}
	}
}

// Say returns lines for the start of a server that has a policy in force. A nil Judge says nothing.
func (j *Judge) Say(inForce Side) []string {
	if j == nil {
		return nil
	}
	of := inForce.Profile
	why, server := show.Typed("mcp-jail why", of.Server), "server "+show.TOML(of.Server)
	lines := []string{server + " keeps its policy, and " + j.Tried.Name + " is tried (--try): it refuses nothing, and `" + why + "` shows what it would have refused"}
	if names := j.withheld(of); len(names) > 0 {
		lines = append(lines, "the policy that is tried would withhold from "+server+": "+show.Line(strings.Join(names, ", ")))
	}
	if more := Beyond(j.Side(), inForce, j.Evidence.UserHome); len(more) > 0 {
		lines = append(lines, "the policy that is tried grants more to "+server+" than the one in force, which has no effect: "+strings.Join(some(more, maxBeyond), ", "))
	}
	return lines
}

const maxBeyond = 10 // grants in one line
