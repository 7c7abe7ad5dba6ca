package diagnostics

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/network"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/policy"
)

// MayBeOfJail reports, without much work, whether a result may name a thing that only the jail has.
func MayBeOfJail(p *policy.Profile, result string) bool {
	return strings.Contains(result, "/tmp/") || p.HomePrivate && p.Home != "" && strings.Contains(result, p.Home) ||
		strings.Contains(result, "localhost:") || strings.Contains(result, "127.0.0.1:")
}

// OfJail returns a note about a call that succeeded: its result, in Text, names a file that is only in
// the jail's /tmp or in the server's own HOME, or a port at which only the jail listens; or the server
// tried a port of the jail's loopback in vain, at which this machine listens. ok is false for others.
func OfJail(ev Evidence) (d Diagnosis, ok bool) {
	if ev.Profile == nil || ev.System != "" && ev.System != "linux" {
		return d, false
	}
	c := facts.New(&ev)
	lines := words.Lines(ev.Text)
	f := ofJail(c, lines)
	if f.Note == "" {
		ev.Unanswered = slices.DeleteFunc(slices.Clone(ev.Unanswered), func(u policy.Unanswered) bool { return u.Background })
		for _, u := range network.Unanswered(c, nil) {
			f = facts.Finding{Note: u.Hint.Cause, Grant: u.Grant, Hint: u.Hint}
			break
		}
	}
	if f.Note == "" {
		return d, false
	}
	f.Hint.Attribution, f.Hint.Cause = Possible, f.Note
	d = Diagnosis{Stage: ev.Stage, Server: ev.Server, Tool: ev.Tool, Answered: true}
	d.Happened(report.OfJail(ev.Tool))
	f.Refused = true
	setCauses(&d, c, []facts.Finding{f})
	return d, true
}

func ofJail(c *facts.Case, lines []string) (f facts.Finding) {
	for _, line := range lines {
		for _, n := range words.Paths(line) {
			path, ok := c.Absolute(n.Text)
			if !ok || c.Exists(path) == facts.Present && !policy.Within(path, c.Profile.Home) {
				continue
			}
			home := c.Profile.Home
			switch place, _ := c.JailPlace(path); {
			case place == "/tmp" && path != place:
				f.Note = c.Show(path) + " is in the /tmp of the jail, which ends with the session, and not on this machine"
				f.Fix = "have the server write into the project folder, or into one that you allow"
			case c.Profile.HomePrivate && home != "" && policy.Within(path, home) && path != home && c.Exists(path) == facts.Present:
				user := filepath.Join(c.Evidence.UserHome, path[len(home):])
				dir := filepath.Dir(user)
				f.Note = c.Show(user) + " is in the server's own HOME, and not in yours: it is " + c.Quote(path)
				if dir != c.Evidence.UserHome && c.Exists(dir) == facts.Present {
					f.Grant = grants.Grant{Path: dir, Rights: policy.Read | policy.Write}
				}
			}
			if f.Note != "" {
				f.Hint = Hint{Axis: policy.AxisFs, Target: path, Missing: "write", Explain: PageFsWrite}
				return f
			}
		}
	}
	for _, port := range network.Listening(c) {
		for _, line := range lines {
			if !slices.Contains(c.Profile.Inbound, port) && (strings.Contains(line, "localhost:") || strings.Contains(line, "127.0.0.1:")) && words.HasNumber(line, port) {
				return facts.Finding{
					Note:  "the server listens at port " + strconv.Itoa(port) + ", and no port leads into the jail",
					Grant: grants.Grant{Inbound: port}, Hint: Hint{Axis: policy.AxisNet, Target: "port " + strconv.Itoa(port), Missing: "inbound", Explain: PageInbound},
				}
			}
		}
	}
	return f
}
