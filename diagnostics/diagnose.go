package diagnostics

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	maxStderr  = 40  // lines of stderr in a diagnosis
	maxStderrB = 512 // bytes of such a line
	maxSaid    = 6   // lines of the failing request's text
	maxDenials = 50  // denials, the latest
	maxTarget  = 1 << 10
	maxCause   = 600
	ownStderr  = 30 // lines of stderr that count as the failure's own text
)

// Diagnose turns evidence into a diagnosis. It is pure: it reads no file, no
// clock and no environment; the host is asked only through the functions of the
// evidence.
func Diagnose(ev Evidence) Diagnosis {
	ev.Redactor = ev.redactor()
	ev.Text = cut(ev.Text, tailBytes)
	d := Diagnosis{Code: codeOf(&ev), Stage: ev.Stage, Attribution: None, Server: ev.Server, Tool: ev.Tool, What: summary(&ev)}
	if ev.Exit != nil {
		if d.Signal = signalName(ev.Exit.Signal); d.Signal == "" {
			code := ev.Exit.Code
			d.Exit = &code
		}
	}
	d.Stderr = quotedLines(redactLines(ev.Stderr, ev.Redactor), maxStderr)
	if text := strings.TrimSpace(ev.Redactor.Redact(ev.Text)); text != "" {
		d.Said = quotedLines(strings.Split(text, "\n"), -maxSaid)
	}
	d.Denials = shownDenials(ev.Redactor.RedactDenials(ev.Denials))

	heard := ev.RawStderr
	if heard == nil {
		heard = ev.Stderr
	}
	if onlyDenials(&ev) {
		heard = nil
	}
	if ev.Exit != nil && ev.Exit.Why != "" {
		return d.endedByJail(ev.Exit.Why)
	}
	a := newAnalyzer(&ev)
	lines := orderByRelevance(ev.Text, heard)
	found, cleared := a.analyze(lines)
	if len(found) > 0 {
		d.setCauses(a, found)
	} else {
		d.fallback(a, lines, cleared)
	}
	if p := timeoutHint(&ev); p != "" {
		d.Fix = strings.TrimPrefix(d.Fix+"; "+p, "; ")
	}
	return d
}

// endedByJail is about a server that has nothing to do with its end.
func (d Diagnosis) endedByJail(why string) Diagnosis {
	d.Attribution = Certain
	d.Cause = cut("its jail could not hold any longer what it promises, and ended it: "+why, maxCause)
	d.Fix = "start it again; if it happens again, see what `mcp-jail doctor` says"
	return d
}

// analyze judges all evidence: the start, the denials, then the text.
func (a *analyzer) analyze(lines []string) (candidates, *finding) {
	own := ownStderr // the last lines of a process are about its end
	if strings.TrimSpace(a.ev.Text) != "" {
		own = len(orderByRelevance(a.ev.Text, nil))
	}
	a.ownLines = own
	a.mentionsSQLite = mentionsSQLite(lines[:min(own, len(lines))])
	all := a.analyzeDenials(lines)
	if a.ev.Start != nil {
		f := a.analyzeStart(*a.ev.Start)
		if !f.refused {
			return all.ranked(own), &f // whatever text there is, it is not of the program
		}
		all.add(candidate{finding: f, named: true})
		return all.ranked(own), nil
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
		if a.revealsSecret(all[i].grant) {
			all[i].grant, all[i].hint.Warning = grant{}, ""
			all[i].fix = "the name holds the value of a granted variable, which is not shown: grant what is around it"
		}
	}
	return all.ranked(own), cleared
}

// reachedBySocket tells a host that was never looked for: the text has its name because a
// connection to a socket was made in that name, and the jail has refused that one. Every
// look-up of a name is on record.
func (a *analyzer) reachedBySocket(f candidate) bool {
	host, _, _, _ := splitEndpoint(f.hint.Target)
	if _, err := netip.ParseAddr(host); f.hint.Axis != policy.AxisNet || host == "localhost" || err == nil {
		return false
	}
	has := func(axis policy.Axis) bool {
		return slices.ContainsFunc(a.ev.Denials, func(d Denial) bool { return d.Axis == axis })
	}
	return has(policy.AxisIPC) && !has(policy.AxisNet)
}

// setCauses fills in the cause that is known.
func (d *Diagnosis) setCauses(a *analyzer, found candidates) {
	for _, f := range found {
		d.Hints = append(d.Hints, a.hint(f.finding))
	}
	first := d.Hints[0]
	d.Attribution, d.Cause, d.Fix = first.Attribution, first.Cause, first.Fix
	grants := found.grants(a.ownLines)
	d.Grant = a.writer.toml(grants)
	d.Flags, _ = a.writer.flags(grants)
	d.Line, d.Declare = a.writer.commandLine(grants)
	if len(d.Grant) > 0 && needsAccessTable(grants) && len(a.writer.preserved()) > 0 {
		d.Fix += "; keep the workspace, since access rules replace the default policy"
	}
}

// fallback says what is left when nothing is blamed.
func (d *Diagnosis) fallback(a *analyzer, lines []string, cleared *finding) {
	f, ok := a.outsideRoots(lines)
	switch {
	case ok:
	case cleared != nil && cleared.hint.Attribution == Possible:
		d.Attribution = Possible
		f = *cleared
	default:
		// What a limit's error names is granted, most likely. Any other name of which
		// the policy refuses nothing has a cause of its own, which words do not change.
		if f, ok = a.heuristics(lines); ok && (cleared == nil || f.hint.Axis == policy.AxisLimits) {
			d.Attribution = Possible
		} else if cleared == nil || a.serverAnswered() && !cleared.aboutPolicy {
			return
		} else {
			f = *cleared
		}
	}
	d.Cause = cut(f.note, maxCause)
	f.hint.Attribution = d.Attribution
	f.hint.Cause = d.Cause
	h := a.hint(f)
	d.Fix = h.Fix
	if !f.grant.isZero() {
		d.Grant, d.Flags = h.Grant, h.Flags
		d.Line, d.Declare = a.writer.commandLine([]grant{f.grant})
	}
}

// serverAnswered tells that the server itself has answered: what the jail has no part in is
// then its own business.
func (a *analyzer) serverAnswered() bool {
	ev := a.ev
	return ev.Exit == nil && ev.Timeout == 0 && ev.Start == nil && ev.Stage != StageBoot
}

// timeoutHint is the limit of time that passed, and the line that raises it.
func timeoutHint(ev *Evidence) string {
	if ev.Timeout == 0 {
		return ""
	}
	key := "call_timeout_secs"
	if ev.Stage == StageBoot {
		key = "startup_timeout_secs"
	}
	switch {
	case ev.FromCommandLine && ev.Stage == StageBoot:
		return "if it needs longer, start it with --startup-timeout " + strconv.Itoa(2*int(ev.Timeout.Seconds()))
	case ev.FromCommandLine:
		return "if it needs longer, declare the server in a configuration file with a larger " + key
	}
	return "if it needs longer, raise " + key + " = " + strconv.Itoa(int(ev.Timeout.Seconds())) + " under [servers." + tomlKey(ev.Server) + "]"
}

// hint completes the hint of a finding with what to do.
func (a *analyzer) hint(f finding) Hint {
	h := f.hint
	h.Cause = cut(h.Cause, maxCause)
	h.Target = cut(strings.ToValidUTF8(a.ev.Redactor.Redact(h.Target), "\ufffd"), maxTarget)
	var fixes []string
	if f.fix != "" {
		fixes = append(fixes, f.fix)
	}
	if !f.grant.isZero() {
		grants := []grant{f.grant}
		h.Grant = a.writer.toml(grants)
		flags, ok := a.writer.flags(grants)
		h.Flags = flags
		switch {
		case a.writer.noTable:
			fixes = append(fixes, "its tools are listed under the default policy: set stateful = true and declare access for the whole server")
		case a.ev.FromCommandLine && ok:
			fixes = append(fixes, "start it with "+strings.Join(flags, " "))
		case a.ev.FromCommandLine:
			fixes = append(fixes, "no flag grants this: declare the server in a configuration file ("+a.whereWhole()+"), with "+a.phrase(f.grant))
		case len(h.Grant) > 0:
			fixes = append(fixes, "add "+a.phrase(f.grant))
		}
	}
	if h.Warning != "" {
		fixes = append(fixes, "careful: "+h.Warning)
	}
	h.Fix = cut(strings.Join(fixes, "; "), 2*maxCause)
	return h
}

// whereWhole is where the whole of a new command line, or of a block, is to be found.
func (a *analyzer) whereWhole() string { return "`mcp-jail why " + a.ev.Server + "` prints it whole" }

// phrase is a need as a phrase: path = "x", read = true under [[…]].
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
	case ev.Stage == StageBoot:
		return CodeBoot
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

// RedactDenials returns denials without the secret values: a server can put them into
// the names of what it asks for.
func (r *Redactor) RedactDenials(denials []Denial) []Denial {
	out := make([]Denial, len(denials))
	for i, d := range denials {
		d.Target, d.Program, d.Detail = r.Redact(d.Target), r.Redact(d.Program), r.Redact(d.Detail)
		out[i] = d
	}
	return out
}

// shownDenials are the latest denials as they are shown. The judge sees them
// before: a name that is no valid UTF-8 must not turn into another name's rule.
func shownDenials(denials []Denial) []Denial {
	denials = denials[max(0, len(denials)-maxDenials):]
	var out []Denial
	for _, d := range denials {
		d.Target = cut(strings.ToValidUTF8(d.Target, "\ufffd"), maxTarget)
		d.Operation = cut(sanitize(d.Operation), maxTarget)
		d.Program = cut(strings.ToValidUTF8(d.Program, "\ufffd"), maxTarget)
		d.Reason, d.Detail = cut(sanitize(d.Reason), maxTarget), cut(sanitize(d.Detail), maxTarget)
		out = append(out, d)
	}
	return out
}

// quotedLines are lines of the server, harmless and bounded: the last n, or the
// first -n where n is negative.
func quotedLines(lines []string, n int) []string {
	if n >= 0 {
		lines = lines[max(0, len(lines)-n):]
	} else {
		lines = lines[:min(len(lines), -n)]
	}
	var out []string
	for _, l := range lines {
		out = append(out, cut(sanitize(strings.TrimRight(l, "\r\n")), maxStderrB))
	}
	return out
}
