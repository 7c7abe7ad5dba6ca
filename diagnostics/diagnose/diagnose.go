package diagnose

import (
	"cmp"
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

const (
	maxStderr  = 20  // lines of stderr in a diagnosis
	maxStderrB = 512 // bytes of such a line
	maxSaid    = 6   // lines of the failing request's text
	maxHints   = 8   // hints of a diagnosis
	maxDenials = 50  // the latest denials
	manyWants  = 3   // things that one failure lacked: a server that lacks so many lacks more
	ownStderr  = 30  // last lines of stderr that always count as text of the failure
)

// Failure returns the diagnosis of a failure.
func Failure(ev diagnostics.Evidence) diagnostics.Diagnosis {
	d := diagnose(ev)
	if d.Explain == "" && (ev.Exit != nil || ev.Timeout > 0 || ev.Start != nil) {
		d.Explain = diagnostics.PageOfCode(d.Code)
	}
	return d
}

func diagnose(ev diagnostics.Evidence) diagnostics.Diagnosis {
	c := analysis.NewCase(&ev)
	ev.Text = show.Cut(ev.Text, diagnostics.TailBytes)
	d := diagnostics.Diagnosis{Code: codeOf(&ev), Stage: ev.Stage, Attribution: diagnostics.None, Server: ev.Server, Tool: ev.Tool}
	happened(&d, &ev)
	if ev.Exit != nil {
		if d.Signal = analysis.SignalName(ev.Exit.Signal); d.Signal == "" {
			code := ev.Exit.Code
			d.Exit = &code
		}
	}
	d.Stderr = quoted(ev.Redactor.Lines(words.Ending(ev.Stderr, maxStderr)))
	if text := strings.TrimSpace(ev.Redactor.Redact(ev.Text)); text != "" {
		d.Said = quoted(words.Ending(strings.Split(text, "\n"), maxSaid))
	}
	d.Denials = shownDenials(ev.Redactor.RedactDenials(ev.Denials))

	if ev.Exit != nil && ev.Exit.Why != "" {
		return endedByJail(d, ev.Exit.Why)
	}
	lines := failingLines(c)
	warning := warned(c, lines)
	if f, ok := analysis.MissingPackage(c, lines); ok {
		if warning.Note != "" {
			f = warning
		}
		return concluded(d, f, diagnostics.PagePackageMissing)
	}
	causes, note := causesOf(c, lines)
	isNamed := func(f analysis.Finding) bool {
		return mentions(lines, policy.Denial{Axis: f.Hint.Axis, Target: f.Hint.Target})
	}
	if warning.Note != "" && !slices.ContainsFunc(causes, isNamed) {
		causes, note = nil, warning
	}
	if file := analysis.NamedReplaced(c, lines); file != "" && len(causes) == 0 {
		return replaced(d, c, file)
	}
	switch {
	case len(causes) > 0:
		setCauses(&d, c, causes)
		d.What += afterWords(c, d, lines)
	case note.Note != "":
		d.Attribution, d.Whole = cmp.Or(note.Hint.Attribution, diagnostics.None), note.Whole
		d.Cause, d.Fix = show.Cut(note.Note, diagnostics.MaxCause), show.Cut(note.Fix, 2*diagnostics.MaxCause)
		if d.Explain = note.Hint.Explain; d.Explain == "" {
			d.Explain = diagnostics.PageElsewhere
		}
	case len(ev.Denials) == 0:
		d.Apart = ev.Redactor.Lines(apart(c, append(lines, alsoWritten(c)...)))
	}
	if ev.Timeout > 0 {
		adviseTime(&d, c)
	}
	return d
}

// apart returns what lines name, and the jail hides or has of its own.
func apart(c *analysis.Case, lines []string) (names []string) {
	add := func(name string) {
		if !slices.Contains(names, name) && len(names) < maxHints {
			names = append(names, name)
		}
	}
	for _, line := range lines {
		for _, n := range words.Paths(line) {
			path, ok := c.Absolute(n.Text)
			place, _ := c.JailPlace(path)
			private := c.Profile.HomePrivate && c.Profile.Home != "" && policy.Within(path, c.Profile.Home)
			if ok && (place != "" || private || c.Exists(path) == analysis.Present && !c.Allows(policy.OpRead, c.Canonical(path))) {
				add(c.Show(path))
			}
		}
		for _, name := range c.Profile.Withheld {
			if words.HasWord(line, name) {
				add(name)
			}
		}
	}
	return names
}

// causesOf returns the causes of a failure, the likeliest first, or a note that explains it otherwise.
// The order is: what the jail recorded during the failing work; the failed start; a port that the jail
// keeps apart; what the failing lines name; what they look like.
func causesOf(c *analysis.Case, lines []string) (causes []analysis.Finding, note analysis.Finding) {
	c.MentionsSQLite = analysis.MentionsSQLite(lines)
	if s := c.Evidence.Start; s != nil {
		f := analysis.AnalyzeStart(c, *s)
		if !f.Refused {
			return nil, f
		}
		return analysis.WithNeeds(c, f), note
	}
	waits := c.Evidence.Timeout > 0 || c.Evidence.Waiting || c.Evidence.Exit != nil && c.Evidence.Exit.Signal != 0 // until a signal ended it
	if f, ok := analysis.Awaited(c, everyLine(c)); ok && waits {
		if f.Refused {
			return []analysis.Finding{f}, note
		}
		return nil, f
	}
	if causes = recorded(c, lines); len(causes) > 0 || onlyDenials(c.Evidence) {
		return causes, note
	}
	if f, ok := analysis.SkippedScripts(c, everyLine(c)); ok {
		f.Hint.Attribution, f.Hint.Explain = diagnostics.Likely, diagnostics.PagePackageScripts
		return nil, f
	}
	if causes, note = said(c, lines); len(causes) > 0 || note.Note != "" {
		return causes, note
	}
	return nil, suspected(c, lines)
}

// said returns what the words of a failure point to: causes, or a note.
func said(c *analysis.Case, lines []string) (causes []analysis.Finding, note analysis.Finding) {
	if f, ok := analysis.Awaited(c, lines); ok && (c.Evidence.Exit != nil || c.Evidence.Text != "") && !c.Evidence.Started {
		if f.Refused {
			return []analysis.Finding{f}, note
		}
		return nil, f
	}
	if f, ok := inspected(c, lines); ok {
		return nil, f
	}
	for i, some := range [][]string{lines, alsoWritten(c)} {
		if i > 0 && len(some) == 0 {
			break
		}
		for _, f := range fromWords(c, some) {
			switch {
			case f.Refused:
				causes = append(causes, f)
			case note.Note == "":
				note = f
			}
		}
		if len(causes) > 0 || note.Note != "" {
			break
		}
	}
	if len(causes) == 0 && note.Note == "" {
		causes = analysis.Unanswered(c, lines)
	}
	if len(causes) > 0 {
		return causes, analysis.Finding{}
	}
	if f, ok := analysis.Unreached(c, lines); ok {
		return nil, f
	}
	return nil, note
}

// suspected returns a note about what may be the cause, without a name for it.
func suspected(c *analysis.Case, lines []string) analysis.Finding {
	if f, ok := analysis.Listens(c); ok {
		return possible(f, diagnostics.PageInbound)
	}
	if f, ok := looksLike(c, lines); ok {
		return possible(f, diagnostics.PagePossible)
	}
	if ev := c.Evidence; ev.Unfit != "" && ev.Stage == diagnostics.StageStartup && !ev.Started && ev.Exit != nil {
		return possible(analysis.Finding{Note: ev.Unfit, Fix: "install a version of Node.js that fits"}, diagnostics.PageServerEnded)
	}
	return analysis.Finding{}
}

// warned returns a note with the warning of the start that names a path, a host or a variable of the failing lines, or
// authorities for certificates, if they do not trust one.
func warned(c *analysis.Case, lines []string) (f analysis.Finding) {
	all := words.Names(lines)
	if slices.ContainsFunc(lines, words.Distrusts) {
		for _, name := range policy.AuthorityVariables {
			all = append(all, words.Name{Kind: words.Variable, Text: name})
		}
	}
	for _, n := range all {
		for _, w := range c.Evidence.Warnings {
			name := n.Text
			if n.Port != 0 {
				name += ":" + strconv.Itoa(n.Port)
			}
			if n.Kind != words.Program && (words.HasName(w, name) || n.Kind == words.Path && words.HasName(w, c.Show(name))) {
				f.Note, f.Hint.Attribution = c.Evidence.Redactor.Redact(w), diagnostics.Likely
				return f
			}
		}
	}
	return f
}

func possible(f analysis.Finding, page diagnostics.Page) analysis.Finding {
	f.Hint.Attribution = diagnostics.Possible
	if f.Hint.Explain == "" {
		f.Hint.Explain = page
	}
	return f
}

// failingLines returns the lines that say what failed: the text of the failing request, or else what
// the process wrote since that began. Where the last error says for itself why, it is alone.
func failingLines(c *analysis.Case) (lines []string) {
	switch ev := c.Evidence; {
	case strings.TrimSpace(ev.Text) != "":
		lines = words.Lines(ev.Text)
	case onlyDenials(ev):
		return nil // nothing failed
	default:
		lines = written(c)
	}
	if last := words.ErrorText(lines); words.Foreign(last) {
		return []string{last}
	}
	return lines
}

// alsoWritten returns what the process wrote on stderr while a request failed that has a text.
func alsoWritten(c *analysis.Case) []string {
	if strings.TrimSpace(c.Evidence.Text) == "" {
		return nil
	}
	return written(c)
}

// everyLine returns all lines that are known, also of before the failing work.
func everyLine(c *analysis.Case) []string {
	lines := c.Evidence.RawStderr
	if lines == nil {
		lines = c.Evidence.Stderr
	}
	return append(words.Lines(strings.Join(lines, "\n")), words.Lines(c.Evidence.Text)...)
}

// written returns the last lines on stderr that may say what failed, without those of before the
// failing work.
func written(c *analysis.Case) []string {
	ev := c.Evidence
	all := ev.RawStderr
	if all == nil {
		all = ev.Stderr
	}
	lines := words.Lines(strings.Join(all[min(ev.Earlier, len(all)):], "\n"))
	return lines[max(0, len(lines)-ownStderr):]
}

// adviseTime adds how the server gets more time. A flag for that is proposed if no other one is.
func adviseTime(d *diagnostics.Diagnosis, c *analysis.Case) {
	d.Fix = diagnostics.Joined(d.Fix, analysis.TimeoutHint(c, "if it needs longer"))
	if o := analysis.Longer(c); !o.IsZero() && !d.CanAllow() {
		d.Longer = c.Decide(change.Want{Source: change.Recorded, Object: o})
	}
}

// afterWords returns the server's last words, if it has ended and they do not name what was refused.
// A client shows only one line.
func afterWords(c *analysis.Case, d diagnostics.Diagnosis, lines []string) string {
	last := words.ErrorText(lines)
	if c.Evidence.Exit == nil || d.Attribution != diagnostics.Certain || last == "" || mentions(lines, policy.Denial{Axis: d.Hints[0].Axis, Target: d.Hints[0].Target}) {
		return ""
	}
	return ", after it said " + show.Quote(show.Cut(c.Evidence.Redactor.Redact(last), 200))
}

// concluded returns the diagnosis with a cause that is a finding's note, and that no rule removes.
func concluded(d diagnostics.Diagnosis, f analysis.Finding, page diagnostics.Page) diagnostics.Diagnosis {
	d.Attribution, d.Cause, d.Fix, d.Explain = diagnostics.Likely, show.Cut(f.Note, diagnostics.MaxCause), show.Cut(f.Fix, 2*diagnostics.MaxCause), page
	return d
}

func endedByJail(d diagnostics.Diagnosis, why string) diagnostics.Diagnosis {
	d.Attribution = diagnostics.Certain
	d.Cause = show.Cut("the jail could no longer enforce the policy and ended the server: "+why, diagnostics.MaxCause)
	d.Fix = "start it again. If it happens again, run: mcp-jail doctor"
	d.Explain = diagnostics.PageJail
	return d
}

// setCauses makes findings the causes of a diagnosis. The first one decides.
func setCauses(d *diagnostics.Diagnosis, c *analysis.Case, found []analysis.Finding) {
	alone := false // what is besides something that the jail does not restrict
	found = slices.DeleteFunc(found, func(f analysis.Finding) bool {
		alone = !c.Restricts(f.Hint.Axis) || alone && f.Besides
		return alone
	})
	found = found[:min(len(found), maxHints)]
	var all []*change.Proposal
	for i := range found {
		found[i] = decided(c, found[i])
		all = append(all, &found[i].Hint.Proposal)
	}
	change.Bundle(all)
	for i, f := range found {
		f = worded(c, f)
		h := hint(c, f)
		if d.Hints = append(d.Hints, h); i == 0 {
			d.Attribution, d.Cause, d.Fix, d.Explain = h.Attribution, h.Cause, h.Fix, h.Explain
			d.May, d.Whole = show.Cut(sayRefused(c, f), diagnostics.MaxCause), f.Whole
		}
	}
	isOpen := func(h diagnostics.Hint) bool { return h.Proposal.IsOpen() }
	if !slices.ContainsFunc(d.Hints, isOpen) || c.Evidence.Stage != diagnostics.StageCall {
		return
	}
	if open := slices.DeleteFunc(slices.Clone(d.Hints), func(h diagnostics.Hint) bool { return !isOpen(h) }); len(open) >= manyWants {
		d.Fix = diagnostics.Joined(d.Fix, "to find out what else it needs: "+show.Typed("mcp-jail learn", c.Evidence.Server))
	}
}

// Oversized adds to a diagnosis that a message is larger than message_mb, and what raises that to mb.
func Oversized(ev diagnostics.Evidence, d *diagnostics.Diagnosis, mb int) {
	c := analysis.NewCase(&ev)
	f := analysis.Finding{Object: change.Object{Setting: change.Setting{Key: diagnostics.KeyMessage, Value: strconv.Itoa(mb)}}}
	f.Hint = diagnostics.Hint{Attribution: diagnostics.Certain, Axis: policy.AxisLimits, Target: diagnostics.KeyMessage, Missing: "limit", Explain: d.Explain}
	f.Hint.Cause = "message_mb = " + strconv.Itoa(ev.Profile.Limits.MessageMB) + " is the limit"
	setCauses(d, c, []analysis.Finding{f})
}

func codeOf(ev *diagnostics.Evidence) diagnostics.Code {
	switch {
	case ev.Started, ev.Waiting:
		return 0
	case ev.Start != nil && ev.Start.Step != diagnostics.StepExec:
		return diagnostics.CodeJail
	case ev.Start != nil || ev.Stage == diagnostics.StageExec:
		return diagnostics.CodeExec
	case ev.Timeout > 0:
		return diagnostics.CodeTimeout
	case ev.Stage == diagnostics.StageStartup:
		return diagnostics.CodeStartup
	}
	return diagnostics.CodeDied
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
		d.Target = show.Cut(strings.ToValidUTF8(d.Target, "\ufffd"), diagnostics.MaxTarget)
		d.Operation = show.Cut(show.Line(d.Operation), diagnostics.MaxTarget)
		d.Arguments = slices.Clone(d.Arguments[:min(len(d.Arguments), maxShownArguments)])
		for i, arg := range d.Arguments {
			d.Arguments[i] = show.Cut(strings.ToValidUTF8(arg, "\ufffd"), diagnostics.MaxTarget)
		}
		d.Program = show.Cut(strings.ToValidUTF8(d.Program, "\ufffd"), diagnostics.MaxTarget)
		d.Reason, d.Detail = policy.DenialReason(show.Cut(show.Line(string(d.Reason)), diagnostics.MaxTarget)), show.Cut(show.Line(d.Detail), diagnostics.MaxTarget)
		out = append(out, d)
	}
	return out
}

func quoted(lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, show.Cut(show.Line(strings.TrimRight(l, "\r\n")), maxStderrB))
	}
	return out
}

// decided returns a finding with what is decided about its change.
//
// Invariant: no change that can be allowed shows a secret, gives the server a hold on what mcp-jail believes, or keeps the
// server from starting.
func decided(c *analysis.Case, f analysis.Finding) analysis.Finding {
	switch o := c.Writer.Object(f.Object); {
	case f.Object.IsZero():
		return f
	case revealsSecret(c, o):
		f.Object = change.Object{}
		f.Fix = "the name contains the value of a secret variable, which is not shown: grant the directory or domain around it"
		return f
	default:
		w := change.Want{Object: o, Besides: f.Besides}
		if f.Hint.Attribution == diagnostics.Certain && !f.Chosen {
			w.Source = change.Recorded
		}
		f.Hint.Proposal = c.Decide(w)
		return f
	}
}

// worded adjusts what is said to what was decided.
func worded(c *analysis.Case, f analysis.Finding) analysis.Finding {
	switch p := f.Hint.Proposal; {
	case p.Verdict() == change.Never && p.Source == change.Said && p.Is(policy.WhySensitive, policy.WhyKeyName):
		f.Hint.Cause, f.Whole = c.Who()+" probably looked for "+c.Show(f.Hint.Target)+". The jail hides keys and passwords", true
	}
	if f.Hint.Proposal.Refused() == "" {
		return f
	}
	f.Fix = ""
	switch p := f.Hint.Proposal; {
	case p.Is(policy.WhyListing):
		f.Fix = "one process for all that it does has rules: " + show.Typed("mcp-jail grant", c.Evidence.Server) + " --remove --per-call"
	case p.Source == change.Said && p.HoldsVariables():
		f.Fix = "to allow it all the same, name it: " + show.Typed("mcp-jail grant", c.Evidence.Server) + " " + change.AsTyped(p.Object.Words())
	}
	return f
}

func revealsSecret(c *analysis.Case, o change.Object) bool {
	return slices.ContainsFunc(append(o.Words(), o.At(), o.Net.Host), func(word string) bool {
		return c.Evidence.Redactor.Redact(word) != word
	})
}
