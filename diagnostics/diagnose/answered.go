package diagnose

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/analysis"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// MayBeOfJail reports, without much work, whether a result may name a thing that only the jail has.
func MayBeOfJail(p *policy.Profile, result []byte) bool {
	has := func(text string) bool { return bytes.Contains(result, []byte(text)) }
	return has("/tmp/") || has("localhost:") || has("127.0.0.1:") || p.HomePrivate && p.Home != "" && has(p.Home)
}

// OfJail returns a note about a call that succeeded: its result, in Text, names a file that is only in
// the jail's /tmp or in the server's own HOME, or a port at which only the jail listens; or the server
// tried a port of the jail's loopback in vain, at which this machine listens. ok is false for others.
func OfJail(ev diagnostics.Evidence) (d diagnostics.Diagnosis, ok bool) {
	if ev.Profile == nil || ev.System != "" && ev.System != "linux" {
		return d, false
	}
	c := analysis.NewCase(&ev)
	lines := words.Lines(ev.Text)
	f := ofJail(c, lines)
	if f.Note == "" {
		ev.Unanswered = slices.DeleteFunc(slices.Clone(ev.Unanswered), func(u policy.Unanswered) bool { return u.Background })
		for _, u := range analysis.Unanswered(c, nil) {
			f = analysis.Finding{Note: u.Hint.Cause, Object: u.Object, Hint: u.Hint}
			break
		}
	}
	if f.Note == "" {
		return d, false
	}
	f.Hint.Attribution, f.Hint.Cause = diagnostics.Possible, f.Note
	d = diagnostics.Diagnosis{Stage: ev.Stage, Server: ev.Server, Tool: ev.Tool, Answered: true}
	d.Happened(show.InSentence(ev.Tool), " names what is only in the jail")
	f.Refused, f.Whole = true, true
	setCauses(&d, c, []analysis.Finding{f})
	return d, true
}

// OfReplaced returns a note about a call that succeeded, although a file which a rule names was replaced since the
// start of the server.
func OfReplaced(ev diagnostics.Evidence, file string) diagnostics.Diagnosis {
	d := diagnostics.Diagnosis{Stage: ev.Stage, Server: ev.Server, Tool: ev.Tool, Answered: true}
	c := analysis.NewCase(&ev)
	d.Happened(show.InSentence(ev.Tool), " may have used an old file")
	return replaced(d, c, file)
}

func replaced(d diagnostics.Diagnosis, c *analysis.Case, file string) diagnostics.Diagnosis {
	d.Replaced = file
	return concluded(d, analysis.ReplacedFile(c, file), diagnostics.PageReplaced)
}

func ofJail(c *analysis.Case, lines []string) (f analysis.Finding) {
	for _, line := range lines {
		for _, n := range words.Paths(line) {
			path, ok := c.Absolute(n.Text)
			if !ok || c.Exists(path) == analysis.Present && !policy.Within(path, c.Profile.Home) {
				continue
			}
			home := c.Profile.Home
			switch place, _ := c.JailPlace(path); {
			case place == "/tmp" && path != place:
				f.Note = c.Show(path) + " is in the /tmp of the jail, which ends with the session, and not on this machine"
				f.Fix = "have the server write into the project folder, or into one that you allow"
			case c.Profile.HomePrivate && home != "" && policy.Within(path, home) && path != home && c.Exists(path) == analysis.Present:
				user := filepath.Join(c.Evidence.UserHome, path[len(home):])
				dir := filepath.Dir(user)
				f.Note = c.Show(user) + " is in the server's own HOME, and not in yours: it is " + c.Quote(path)
				if dir != c.Evidence.UserHome && c.Exists(dir) == analysis.Present {
					f.Object = change.Path(dir, policy.Read|policy.Write)
				}
			}
			if f.Note != "" {
				f.Hint = diagnostics.Hint{Axis: policy.AxisFs, Target: path, Missing: "write", Explain: diagnostics.PageFsWrite}
				return f
			}
		}
	}
	for _, port := range analysis.Listening(c) {
		for _, line := range lines {
			if !slices.Contains(c.Profile.Inbound, port) && (strings.Contains(line, "localhost:") || strings.Contains(line, "127.0.0.1:")) && words.HasNumber(line, port) {
				return analysis.Finding{
					Note:   "the server listens at port " + strconv.Itoa(port) + ", and no port leads into the jail",
					Object: change.Object{Inbound: port}, Hint: diagnostics.Hint{Axis: policy.AxisNet, Target: "port " + strconv.Itoa(port), Missing: "inbound", Explain: diagnostics.PageInbound},
				}
			}
		}
	}
	return f
}
