package diagnostics

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/network"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/redact"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/starts"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	maxStderr  = 20  // lines of stderr in a diagnosis
	maxStderrB = 512 // bytes of such a line
	maxSaid    = 6   // lines of the failing request's text
	maxDenials = 50  // the latest denials
	ownStderr  = 30  // last lines of stderr that always count as text of the failure
)

// Diagnose turns evidence into a diagnosis. It is pure: it reads no file, clock or
// environment, and asks about the host only through the functions of the evidence.
func Diagnose(ev Evidence) Diagnosis {
	d := diagnose(ev)
	if d.Explain == "" && (ev.Exit != nil || ev.Timeout > 0 || ev.Start != nil) {
		d.Explain = PageOfCode(d.Code)
	}
	return d
}

func diagnose(ev Evidence) Diagnosis {
	c := facts.New(&ev)
	ev.Text = show.Cut(ev.Text, redact.TailBytes)
	d := Diagnosis{Code: codeOf(&ev), Stage: ev.Stage, Attribution: None, Server: ev.Server, Tool: ev.Tool}
	happened(&d, &ev)
	if ev.Exit != nil {
		if d.Signal = facts.SignalName(ev.Exit.Signal); d.Signal == "" {
			code := ev.Exit.Code
			d.Exit = &code
		}
	}
	d.Stderr = quoted(ev.Redactor.Lines(said.Ending(ev.Stderr, maxStderr)))
	if text := strings.TrimSpace(ev.Redactor.Redact(ev.Text)); text != "" {
		d.Said = firstQuoted(strings.Split(text, "\n"), maxSaid)
	}
	d.Denials = shownDenials(ev.Redactor.RedactDenials(ev.Denials))

	raw := rawStderr(&ev)
	if ev.Exit != nil && ev.Exit.Why != "" {
		return endedByJail(d, ev.Exit.Why)
	}
	lines := said.OrderByRelevance(ev.Text, raw, c.Escaped)
	if f, ok := starts.Compiling(c); ok {
		return concluded(d, f, PageTimeout)
	}
	if f, ok := starts.MissingPackage(c, lines); ok {
		return concluded(d, f, PagePackageMissing)
	}
	own, failed := min(ownLines(c, raw), len(lines)), failedLine(ev.Text, raw)
	awaited, awaits := network.AwaitsCallback(c, lines, own)
	waits := ev.Timeout > 0 || ev.Waiting || ev.Exit != nil && ev.Exit.Signal != 0 // until a signal ended it
	if awaits && waits && awaited.Hint.Attribution == Likely {
		setAwaited(&d, c, awaited)
		return d
	}
	found, cleared := analyze(c, lines, own, failed)
	causes, aside := found.split()
	scripts, skipped := starts.SkippedScripts(c, lines)
	if len(causes) == 0 && !skipped && !awaits {
		causes, cleared = analyzeMentions(c, lines[:own], cleared)
	}
	causes = withKnown(c, causes, cleared, lines[:own])
	switch {
	case len(causes) > 0:
		setCauses(&d, c, causes, own)
	case skipped:
		d = concluded(d, scripts, PagePackageScripts)
	case awaits && (awaited.Hint.Attribution == Likely || !serverAnswered(c)):
		setAwaited(&d, c, awaited)
		return d
	default:
		fallback(&d, c, lines[:min(own+ownStderr, len(lines))], lines[:own], cleared)
	}
	d.What += afterWords(c, d, causes, aside, own)
	tellAside(&d, c, aside)
	if ev.Timeout > 0 {
		adviseTime(&d, c)
	}
	return d
}

// adviseTime adds how the server gets more time. A flag for that is proposed if no other one is.
func adviseTime(d *Diagnosis, c *facts.Case) {
	d.Fix = report.Joined(d.Fix, starts.TimeoutHint(c, "if it needs longer"))
	if len(d.Words) == 0 {
		d.Words = starts.LongerWords(c)
	}
}

// failedLine returns the line that says what failed, of the text of a request or of stderr.
func failedLine(text string, stderr []string) string {
	if text = strings.TrimSpace(text); text != "" {
		stderr = strings.Split(text, "\n")
	}
	return said.ErrorText(stderr)
}

// rawStderr returns the lines that are analyzed.
func rawStderr(ev *Evidence) []string {
	switch {
	case onlyDenials(ev): // nothing failed: stderr is about something else
		return nil
	case ev.RawStderr == nil:
		return lastBytes(ev.Stderr, redact.TailBytes)
	}
	return lastBytes(ev.RawStderr, redact.TailBytes)
}

// afterWords returns the server's last words, if it has ended and they do not name what was refused.
// A client shows only one line.
func afterWords(c *facts.Case, d Diagnosis, causes, aside candidates, own int) string {
	unnamed := len(aside) > 0
	if len(causes) > 0 {
		unnamed = causes[0].Hint.Attribution == Certain && !(causes[0].named && causes[0].distance < own)
	}
	words := d.LastError()
	if c.Evidence.Exit == nil || !unnamed || d.Cause == "" || strings.Contains(d.Cause, "the server said") || !said.SaysFailure(words) {
		return ""
	}
	return ", after it said " + show.Quote(show.Cut(words, 200))
}

// setAwaited makes a connection that the server waits for the cause. What the jail refused meanwhile
// is on record, and did not keep the server waiting.
func setAwaited(d *Diagnosis, c *facts.Case, f facts.Finding) {
	if f.Refused {
		setCauses(d, c, candidates{{Finding: f, named: true}}, 1)
	} else {
		*d = concluded(*d, f, f.Hint.Explain)
	}
	if c.Evidence.Timeout > 0 {
		d.Fix = report.Joined(d.Fix, starts.TimeoutHint(c, "if the login takes longer"))
	}
}

// lastBytes returns the last lines, of n bytes at most.
func lastBytes(lines []string, n int) []string {
	from := len(lines)
	for from > 0 && n > len(lines[from-1]) {
		from--
		n -= len(lines[from]) + 1
	}
	return lines[from:]
}

// concluded returns the diagnosis with a cause that is a finding's note, and that no rule removes.
func concluded(d Diagnosis, f facts.Finding, page Page) Diagnosis {
	d.Attribution, d.Cause, d.Fix, d.Explain = Likely, show.Cut(f.Note, report.MaxCause), show.Cut(f.Fix, 2*report.MaxCause), page
	return d
}

func endedByJail(d Diagnosis, why string) Diagnosis {
	d.Attribution = Certain
	d.Cause = show.Cut("the jail could no longer enforce the policy and ended the server: "+why, report.MaxCause)
	d.Fix = "start it again; if it happens again, run `mcp-jail doctor`"
	d.Explain = PageJail
	return d
}

// ownLines returns how many of the first lines are text of the failure: that of the request, or
// what the process wrote last, from the line that says what failed.
func ownLines(c *facts.Case, stderr []string) int {
	if strings.TrimSpace(c.Evidence.Text) != "" {
		return len(said.OrderByRelevance(c.Evidence.Text, nil, said.Escapes{}))
	}
	from := max(0, len(stderr)-ownStderr)
	if at := said.ErrorLine(stderr); at >= 0 {
		from = min(from, at)
	}
	from = max(from, min(c.Evidence.Earlier, len(stderr)))
	return len(said.OrderByRelevance("", stderr[from:], said.Escapes{}))
}

func analyze(c *facts.Case, lines []string, own int, failed string) (candidates, *facts.Finding) {
	c.MentionsSQLite = paths.MentionsSQLite(lines[:min(own, len(lines))])
	all := analyzeDenials(c, lines)
	// A start that failed is a fact, and needs no text.
	if c.Evidence.Start != nil {
		f := starts.Analyze(c, *c.Evidence.Start)
		if !f.Refused {
			return ranked(c, all, own), &f // the program did not run, so any text is not its own
		}
		all.add(candidate{Finding: f, named: true})
		return ranked(c, all, own), nil
	}
	likely, cleared, clearedAt := analyzeText(c, lines)
	likely = slices.DeleteFunc(likely, func(f candidate) bool { return reachedBySocket(c, f) })
	if f := paths.UngrantedRoot(c, lines); f.Refused {
		likely = append(likely, candidate{Finding: f, named: true})
	}
	missed := analyzeSettings(c, lines[:own], Likely)
	likely = slices.DeleteFunc(likely, func(f candidate) bool { return f.Hint.Axis == policy.AxisNet && missed.say(f.distance) })
	likely = append(missed, likely...)
	likely = append(likely, analyzeCertificates(c, lines)...)
	likely = append(likely, analyzeArguments(c, lines)...)
	likely, absent := addLoopback(c, likely, lines, own, cleared != nil && clearedAt < own)
	if cleared == nil {
		cleared = absent
	}
	for _, f := range likely {
		all.add(f)
	}
	markIncidental(c, all, likely, lines, own, failed)
	return ranked(c, all, own), cleared
}

// reachedBySocket reports whether a host in the text was never looked up: the server connected to a
// local socket for it, and the jail refused that. Every lookup of a name is on record.
func reachedBySocket(c *facts.Case, f candidate) bool {
	host, _, _, _ := said.SplitEndpoint(f.Hint.Target)
	if _, err := netip.ParseAddr(host); f.Hint.Axis != policy.AxisNet || host == "localhost" || err == nil {
		return false
	}
	has := func(axis policy.Axis) bool {
		return slices.ContainsFunc(c.Evidence.Denials, func(d policy.Denial) bool { return d.Axis == axis })
	}
	return has(policy.AxisIPC) && !has(policy.AxisNet)
}

func setCauses(d *Diagnosis, c *facts.Case, found candidates, own int) {
	for _, f := range found {
		d.Hints = append(d.Hints, hint(c, f.Finding))
	}
	first := d.Hints[0]
	d.Attribution, d.Cause, d.Fix, d.Explain, d.NoLine = first.Attribution, first.Cause, first.Fix, first.Explain, found[0].NoLine
	// The grants are tried together, and without the last ones until the server would start with them.
	wanted := found.grants(own)
	err := try(c, wanted)
	for len(wanted) > 1 && err != nil { // each of them can be added alone
		wanted = wanted[:len(wanted)-1]
		err = try(c, wanted)
	}
	d.Words = c.Writer.Words(wanted)
}

// Oversized adds to a diagnosis that a message is larger than message_mb, and what raises that to mb.
func Oversized(ev Evidence, d *Diagnosis, mb int) {
	c := facts.New(&ev)
	f := facts.Finding{Grant: grants.Grant{Limit: report.KeyMessage, Value: mb}}
	f.Hint = Hint{Attribution: Certain, Axis: policy.AxisLimits, Target: report.KeyMessage, Missing: "limit", Explain: d.Explain}
	f.Hint.Cause = "message_mb = " + strconv.Itoa(ev.Profile.Limits.MessageMB) + " is the limit"
	setCauses(d, c, candidates{{Finding: proposable(c, f)}}, 0)
}

func codeOf(ev *Evidence) Code {
	switch {
	case ev.Started, ev.Waiting:
		return 0
	case ev.Start != nil && ev.Start.Step != StepExec:
		return CodeJail
	case ev.Start != nil || ev.Stage == StageExec:
		return CodeExec
	case ev.Timeout > 0:
		return CodeTimeout
	case ev.Stage == StageStartup:
		return CodeStartup
	}
	return CodeDied
}

// maxShownArguments is how many arguments of a refused start are shown.
const maxShownArguments = 20

// shownDenials returns the latest denials in the form in which they are shown. The
// packages of the subjects get them unchanged: an invalid name must not turn into a rule for another
// name.
func shownDenials(denials []policy.Denial) []policy.Denial {
	denials = denials[max(0, len(denials)-maxDenials):]
	var out []policy.Denial
	for _, d := range denials {
		d.Target = show.Cut(strings.ToValidUTF8(d.Target, "\ufffd"), report.MaxTarget)
		d.Operation = show.Cut(show.Line(d.Operation), report.MaxTarget)
		d.Arguments = slices.Clone(d.Arguments[:min(len(d.Arguments), maxShownArguments)])
		for i, arg := range d.Arguments {
			d.Arguments[i] = show.Cut(strings.ToValidUTF8(arg, "\ufffd"), report.MaxTarget)
		}
		d.Program = show.Cut(strings.ToValidUTF8(d.Program, "\ufffd"), report.MaxTarget)
		d.Reason, d.Detail = policy.DenialReason(show.Cut(show.Line(string(d.Reason)), report.MaxTarget)), show.Cut(show.Line(d.Detail), report.MaxTarget)
		out = append(out, d)
	}
	return out
}

func firstQuoted(lines []string, n int) []string { return quoted(lines[:min(len(lines), n)]) }

func quoted(lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, show.Cut(show.Line(strings.TrimRight(l, "\r\n")), maxStderrB))
	}
	return out
}
