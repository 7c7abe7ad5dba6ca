package diagnostics

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	maxStderr  = 40  // lines of stderr in a diagnosis
	maxStderrB = 512 // bytes of such a line
	maxSaid    = 6   // lines of the failing request's text
	maxDenials = 50  // the latest denials
	maxTarget  = 1 << 10
	maxCause   = 600
	ownStderr  = 30 // last lines of stderr that count as text of the failure
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
	ev.Redactor = ev.redactor()
	ev.Text = show.Cut(ev.Text, tailBytes)
	d := Diagnosis{Code: codeOf(&ev), Stage: ev.Stage, Attribution: None, Server: ev.Server, Tool: ev.Tool, What: summary(&ev)}
	if ev.Exit != nil {
		if d.Signal = signalName(ev.Exit.Signal); d.Signal == "" {
			code := ev.Exit.Code
			d.Exit = &code
		}
	}
	d.Stderr = lastQuoted(redactLines(ev.Stderr, ev.Redactor), maxStderr)
	if text := strings.TrimSpace(ev.Redactor.Redact(ev.Text)); text != "" {
		d.Said = firstQuoted(strings.Split(text, "\n"), maxSaid)
	}
	d.Denials = shownDenials(ev.Redactor.RedactDenials(ev.Denials))

	raw := ev.RawStderr
	if raw == nil {
		raw = ev.Stderr
	}
	if onlyDenials(&ev) {
		raw = nil
	}
	if ev.Exit != nil && ev.Exit.Why != "" {
		return d.endedByJail(ev.Exit.Why)
	}
	a := newAnalyzer(&ev)
	lines := said.OrderByRelevance(ev.Text, raw, a.escaped)
	if f, ok := a.missingPackage(lines); ok {
		d.Attribution, d.Cause, d.Fix, d.Explain = Likely, show.Cut(f.note, maxCause), show.Cut(f.fix, 2*maxCause), PagePackageMissing
		return d
	}
	found, cleared := a.analyze(lines)
	scripts, skipped := a.skippedScripts(lines)
	switch {
	case len(found) > 0:
		d.setCauses(a, found)
	case skipped:
		d.Attribution, d.Cause, d.Fix, d.Explain = Likely, show.Cut(scripts.note, maxCause), show.Cut(scripts.fix, 2*maxCause), PagePackageScripts
	default:
		d.fallback(a, lines, cleared)
	}
	if p := timeoutHint(&ev); p != "" {
		d.Fix = strings.TrimPrefix(d.Fix+"; "+p, "; ")
	}
	return d
}

// endedByJail returns the diagnosis for a server that the jail ended for a reason of its
// own.
func (d Diagnosis) endedByJail(why string) Diagnosis {
	d.Attribution = Certain
	d.Cause = show.Cut("the jail could no longer enforce the policy and ended the server: "+why, maxCause)
	d.Fix = "start it again; if it happens again, run `mcp-jail doctor`"
	d.Explain = PageJail
	return d
}

// analyze evaluates all evidence: the start, the denials, then the text.
func (a *analyzer) analyze(lines []string) (candidates, *finding) {
	own := ownStderr // the last lines of a process concern its end
	if strings.TrimSpace(a.ev.Text) != "" {
		own = len(said.OrderByRelevance(a.ev.Text, nil, said.Escapes{}))
	}
	a.ownLines = own
	a.mentionsSQLite = mentionsSQLite(lines[:min(own, len(lines))])
	all := a.analyzeDenials(lines)
	if a.ev.Start != nil {
		f := a.analyzeStart(*a.ev.Start)
		if !f.refused {
			return a.ranked(all, own), &f // the program did not run, so any text is not its own
		}
		all.add(candidate{finding: f, named: true})
		return a.ranked(all, own), nil
	}
	likely, cleared := a.analyzeText(lines)
	likely = slices.DeleteFunc(likely, a.reachedBySocket)
	if f := a.ungrantedRoot(lines); f.refused {
		likely = append(likely, candidate{finding: f, named: true})
	}
	for _, f := range append(likely, a.analyzeArguments(lines)...) {
		all.add(f)
	}
	for i := range all {
		all[i].incidental = all[i].hint.Axis == policy.AxisNet && !all[i].named && all[i].hint.Attribution == Certain &&
			(namesAnotherCause(likely, lines, own) || all[i].hint.Target == "" && len(likely) > 0)
	}
	return a.ranked(all, own), cleared
}

// reachedBySocket reports whether a host in the text was never looked up: the server connected to a
// local socket for it, and the jail refused that. Every lookup of a name is on record.
func (a *analyzer) reachedBySocket(f candidate) bool {
	host, _, _, _ := said.SplitEndpoint(f.hint.Target)
	if _, err := netip.ParseAddr(host); f.hint.Axis != policy.AxisNet || host == "localhost" || err == nil {
		return false
	}
	has := func(axis policy.Axis) bool {
		return slices.ContainsFunc(a.ev.Denials, func(d policy.Denial) bool { return d.Axis == axis })
	}
	return has(policy.AxisIPC) && !has(policy.AxisNet)
}

// setCauses fills in the known causes.
func (d *Diagnosis) setCauses(a *analyzer, found candidates) {
	for _, f := range found {
		d.Hints = append(d.Hints, a.hint(f.finding))
	}
	first := d.Hints[0]
	d.Attribution, d.Cause, d.Fix, d.Explain = first.Attribution, first.Cause, first.Fix, first.Explain
	grants := found.grants(a.ownLines)
	err := a.try(grants)
	for len(grants) > 1 && err != nil { // each of them can be added alone
		grants = grants[:len(grants)-1]
		err = a.try(grants)
	}
	if err == nil {
		d.Grant, d.File = a.writer.toml(grants), a.ev.File
	}
	d.Flags, _ = a.writer.flags(grants)
	d.Line, d.Declare = a.writer.commandLine(grants)
	if len(d.Grant) > 0 && needsAccessTable(grants) && len(a.writer.preserved()) > 0 {
		d.Fix += "; keep the workspace, since access rules replace the default policy"
	}
}

// fallback fills in what remains when no cause is found.
func (d *Diagnosis) fallback(a *analyzer, lines []string, cleared *finding) {
	f, ok := a.outsideRoots(lines)
	unreached, failed := a.unreachedHost(lines)
	switch {
	case ok:
	case failed:
		f = unreached
	case cleared != nil && cleared.hint.Attribution == Possible:
		d.Attribution = Possible
		f = *cleared
	default:
		// The file in the error of a limit is most likely granted. Another name that
		// the policy does not refuse has a cause of its own.
		if f, ok = a.heuristics(lines); ok && (cleared == nil || f.hint.Axis == policy.AxisLimits) {
			d.Attribution = Possible
		} else if cleared == nil || a.serverAnswered() && !cleared.aboutPolicy {
			return
		} else {
			f = *cleared
		}
	}
	f = a.proposable(f)
	d.Cause = show.Cut(f.note, maxCause)
	f.hint.Attribution = d.Attribution
	f.hint.Cause = d.Cause
	h := a.hint(f)
	d.Fix = h.Fix
	switch d.Explain = h.Explain; {
	case d.Explain != "" || d.Code == CodeExec:
	case d.Attribution == Possible:
		d.Explain = PagePossible
	default:
		d.Explain = PageElsewhere
	}
	if !f.grant.isZero() {
		d.Grant, d.Flags = h.Grant, h.Flags
		d.Line, d.Declare = a.writer.commandLine([]grant{f.grant})
	}
}

// serverAnswered reports whether the server itself has responded. A failure in which the
// jail had no part is then left to the server's own message.
func (a *analyzer) serverAnswered() bool {
	ev := a.ev
	return ev.Exit == nil && ev.Timeout == 0 && ev.Start == nil && ev.Stage != StageStartup
}

// timeoutHint names the limit that passed and the setting that raises it.
func timeoutHint(ev *Evidence) string {
	if ev.Timeout == 0 {
		return ""
	}
	key := "call_timeout_secs"
	if ev.Stage == StageStartup {
		key = "startup_timeout_secs"
	}
	switch {
	case ev.FromCommandLine && ev.Stage == StageStartup:
		return "if it needs longer, start it with --startup-timeout " + strconv.Itoa(2*int(ev.Timeout.Seconds()))
	case ev.FromCommandLine:
		return "if it needs longer, declare the server in a configuration file with a larger " + key
	}
	return "if it needs longer, raise " + key + " = " + strconv.Itoa(int(ev.Timeout.Seconds())) + " under [servers." + show.Key(ev.Server) + "]"
}

// hint returns the hint of a finding, completed by the remedy.
func (a *analyzer) hint(f finding) Hint {
	h := f.hint
	if h.Explain == "" {
		h.Explain = a.pageOf(h)
	}
	h.Cause = show.Cut(h.Cause, maxCause)
	h.Target = show.Cut(strings.ToValidUTF8(a.ev.Redactor.Redact(h.Target), "\ufffd"), maxTarget)
	var fixes []string
	if f.fix != "" {
		fixes = append(fixes, f.fix)
	}
	if !f.grant.isZero() {
		grants := []grant{f.grant}
		if !f.inTable {
			h.Grant = a.writer.toml(grants)
		}
		flags, ok := a.writer.flags(grants)
		h.Flags = flags
		switch {
		case a.writer.noTable:
			fixes = append(fixes, "its tools are listed under the default policy, which no table changes: set stateful = true and declare access for the whole server")
		case a.ev.FromCommandLine && ok:
			fixes = append(fixes, "start it with "+strings.Join(flags, " "))
		case a.ev.FromCommandLine:
			fixes = append(fixes, "no flag grants this: declare the server in a configuration file ("+a.whereWhole()+"), with "+a.phrase(f.grant))
		case f.inTable:
			fixes = append(fixes, a.file()+" has such a table or list already: put in "+a.phrase(f.grant)+" there"+andTrust(a.ev.File))
		case len(h.Grant) > 0:
			fixes = append(fixes, "add "+a.phrase(f.grant))
		}
	}
	if h.Warning != "" {
		fixes = append(fixes, "careful: "+h.Warning)
	}
	h.Fix = show.Cut(strings.Join(fixes, "; "), 2*maxCause)
	return h
}

// file names the file into which lines belong.
func (a *analyzer) file() string {
	if a.ev.File == "" {
		return "the file"
	}
	return show.Line(a.ev.File)
}

// whereWhole tells where to find a whole new command line or block.
func (a *analyzer) whereWhole() string {
	return "`" + show.Typed("mcp-jail why", a.ev.Server) + "` prints it whole"
}

// phrase returns a grant as a phrase: path = "x", read = true under [[…]].
func (a *analyzer) phrase(n grant) string {
	also := ""
	if n.with != "" {
		also, n.with = ", and the same for "+a.show(n.with), ""
	}
	block := a.writer.block(n)
	switch len(block) {
	case 0:
		return ""
	case 1:
		return block[0]
	}
	for i, line := range block[1:] {
		if comment, ok := strings.CutPrefix(line, "# "); ok {
			block, also = slices.Delete(block, i+1, i+2), ", "+comment+also
			break
		}
	}
	return strings.Join(block[1:], ", ") + " under " + block[0] + also
}

func codeOf(ev *Evidence) Code {
	switch {
	case ev.Started:
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

func redactLines(lines []string, r *Redactor) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = r.Redact(l)
	}
	return out
}

// RedactDenials returns denials without secret values. A server can put them into the
// names that it uses.
func (r *Redactor) RedactDenials(denials []policy.Denial) []policy.Denial {
	out := make([]policy.Denial, len(denials))
	for i, d := range denials {
		d.Target, d.Program, d.Detail = r.Redact(d.Target), r.Redact(d.Program), r.Redact(d.Detail)
		d.Arguments = slices.Clone(d.Arguments)
		for k, arg := range d.Arguments {
			d.Arguments[k] = r.Redact(arg)
		}
		out[i] = d
	}
	return out
}

// maxShownArguments is how many arguments of a refused start are shown.
const maxShownArguments = 20

// shownDenials returns the latest denials in the form in which they are shown. The
// analyzer gets them unchanged: an invalid name must not turn into a rule for another
// name.
func shownDenials(denials []policy.Denial) []policy.Denial {
	denials = denials[max(0, len(denials)-maxDenials):]
	var out []policy.Denial
	for _, d := range denials {
		d.Target = show.Cut(strings.ToValidUTF8(d.Target, "\ufffd"), maxTarget)
		d.Operation = show.Cut(show.Line(d.Operation), maxTarget)
		d.Arguments = slices.Clone(d.Arguments[:min(len(d.Arguments), maxShownArguments)])
		for i, arg := range d.Arguments {
			d.Arguments[i] = show.Cut(strings.ToValidUTF8(arg, "\ufffd"), maxTarget)
		}
		d.Program = show.Cut(strings.ToValidUTF8(d.Program, "\ufffd"), maxTarget)
		d.Reason, d.Detail = policy.DenialReason(show.Cut(show.Line(string(d.Reason)), maxTarget)), show.Cut(show.Line(d.Detail), maxTarget)
		out = append(out, d)
	}
	return out
}

// firstQuoted returns the first n lines of the server, as quoted does.
func firstQuoted(lines []string, n int) []string { return quoted(lines[:min(len(lines), n)]) }

// lastQuoted returns the last n lines of the server, as quoted does.
func lastQuoted(lines []string, n int) []string { return quoted(lines[max(0, len(lines)-n):]) }

// quoted returns lines of the server, sanitized and each cut to maxStderrB bytes.
func quoted(lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, show.Cut(show.Line(strings.TrimRight(l, "\r\n")), maxStderrB))
	}
	return out
}
