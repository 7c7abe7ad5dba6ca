package diagnose

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/analysis"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Arguments returns a warning, before a start, about paths among a server's arguments, or in its
// granted variables, that exist on the host and that the policy does not let the server read, with
// the rules that would grant them. It returns "" when there are none. It uses the profile and the host
// functions of the evidence. tools are the profiles of a stateless server's tools; a path
// that one of them may read is left out.
func Arguments(ev diagnostics.Evidence, tools ...*policy.Profile) string {
	if ev.Profile == nil {
		return ""
	}
	a := analysis.NewCase(&ev)
	var named, careful []string
	var wanted []change.Object
	for _, f := range analysis.GivenPaths(a, diagnostics.Certain, words.Absent, nil, true) {
		path := f.Hint.Target
		if slices.ContainsFunc(tools, func(p *policy.Profile) bool { return p.Allows(policy.OpRead, path) }) {
			continue
		}
		f = decided(a, f)
		named = append(named, a.Show(path))
		p := f.Hint.Proposal
		if !p.IsOpen() {
			careful = append(careful, diagnostics.Joined(p.Refused(), f.Fix))
			continue
		}
		wanted = append(wanted, p.Object)
		if because := p.Because(a.Show(path)); because != "" {
			careful = append(careful, "careful: "+because)
		}
	}
	if len(named) == 0 {
		return ""
	}
	text := "the server cannot reach what its arguments and variables name, since that is not granted: " + strings.Join(named, ", ")
	if ev.Stateless {
		return text + ". Allow it to the tools that need it" + diagnostics.PagePathArg.Reference()
	}
	if phrase := grantPhrase(a, wanted); phrase != "" {
		return diagnostics.Joined(append(append([]string{text}, careful...), phrase)...)
	}
	return diagnostics.Joined(append([]string{text}, careful...)...) + diagnostics.PagePathArg.Reference()
}

func grantPhrase(c *analysis.Case, wanted []change.Object) string {
	var words []string
	for _, o := range change.Merge(wanted) {
		words = append(words, o.Words()...)
	}
	command, ok := show.TypedOK("mcp-jail grant", c.Evidence.Server)
	if len(words) == 0 || !ok {
		return ""
	}
	return "to allow that: " + command + " " + change.AsTyped(words)
}

// mayFail reports whether a line may tell of a refusal. It is cheaper than to look for names.
func mayFail(line string) bool {
	return words.MatchFault(line) != words.NoFault || words.ContainsAny(strings.ToLower(line), []string{"not set", "required", "missing", "unset", "must be", "variable", "credential", "login"})
}

// Complaint returns the diagnosis for a server that has started and reported on stderr
// that it lacks access to something. ok is false if no likely cause is found with a grant,
// or with what the user can write for a sensitive path. Only text counts: denials during a start are common and are ignored.
func Complaint(ev diagnostics.Evidence) (d diagnostics.Diagnosis, ok bool) {
	if !slices.ContainsFunc(ev.Stderr, mayFail) {
		return d, false
	}
	ev.Started, ev.Denials = true, nil
	d = Failure(ev)
	return d, d.Attribution == diagnostics.Likely && (d.CanAllow() || d.Explain == diagnostics.PageFsSensitive)
}

// Awaited returns the diagnosis for a server that runs and does not answer, because it waits for a
// connection that no port leads in. ok is false if that is not likely.
func Awaited(ev diagnostics.Evidence) (d diagnostics.Diagnosis, ok bool) {
	ev.Waiting, ev.Denials = true, nil
	d = Failure(ev)
	return d, d.Attribution == diagnostics.Likely && d.Explain == diagnostics.PageInbound
}

// MayAwait reports whether bytes of stderr may say that the server waits for a login.
func MayAwait(b []byte) bool {
	return bytes.Contains(b, []byte("http")) || bytes.Contains(b, []byte("port"))
}

// BuildFix returns the remedy for a shortage of the host that prevents the building of a jail, or "" for other errors.
// The system is named as in [diagnostics.Evidence].
func BuildFix(err error, system string) string {
	var errno syscall.Errno
	errors.As(err, &errno)
	return analysis.ShortageFix(errno, system == "darwin")
}
