package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	earlierLines = 20       // lines of stderr from before the failing work that are searched
	maxText      = 64 << 10 // bytes of a result that are searched
	maxRecords   = 200      // diagnoses in a record
)

// Evidence returns what is known about a failure at this moment. c is the failing request,
// or nil. since is when the failing work began; earlier denials are left out,
// and so are earlier lines but for the latest.
func (s *Server) Evidence(stage diagnostics.Stage, c *mcpproxy.Call, since time.Time) diagnostics.Evidence {
	ev := s.Client.Config.Known
	ev.Stage, ev.System, ev.Server, ev.Profile, ev.Unset, ev.Redactor = stage, runtime.GOOS, s.Profile.Server, s.Profile, s.Unset, s.Redact
	ev.Stateless, ev.Denials, ev.HostFailures = s.Stateless, s.denials(since), s.Processes.hostFailures(since)
	ev.Replaced = s.replaced()
	ev.Unanswered, ev.Host = s.unanswered(time.Time{}, since), ownHost{ev.Host, &s.Processes}
	ev.Stderr, ev.RawStderr, ev.Earlier = s.Tail.Since(since, earlierLines)
	if given := s.Roots.ofClient.Load(); given != nil {
		ev.Roots = *given
	}
	if c != nil {
		ev.Method, ev.Tool = string(c.Method), string(c.Tool)
	}
	return ev
}

// ownHost also knows the server's own processes.
type ownHost struct {
	diagnostics.Host
	processes *processHistory
}

func (h ownHost) Listening() []int { return h.processes.listening() }

func (s *Server) denials(since time.Time) []policy.Denial {
	var out []policy.Denial
	for _, d := range s.Processes.Denials() {
		// A denial that was counted again counts as new.
		if d.Tool = s.Profile.Tool; !d.Latest().Before(since) {
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b policy.Denial) int { return a.Latest().Compare(b.Latest()) })
	s.Client.usual.classify(out, s.FirstCall.at.Load())
	classifyReads(s.CertainReads, out, s.FirstCall.at.Load())
	return out
}

// unanswered returns the ports of the jail's loopback at which no program listened, from a time on.
// Those of before the failing work may still be its cause, so they stay, marked.
func (s *Server) unanswered(from, work time.Time) []policy.Unanswered {
	proc := s.Processes.now()
	if proc == nil {
		return nil
	}
	all := slices.Clone(proc.Unanswered(from))
	s.Client.usual.classifyPorts(all, s.FirstCall.at.Load())
	for i := range all {
		all[i].Background = all[i].Background || all[i].Last.Before(work)
	}
	return all
}

// RecordedDenials returns the denials of the server's processes for the record.
func (s *Server) RecordedDenials() []policy.Denial {
	return s.Redact.RedactDenials(s.denials(time.Time{}))
}

// StartFailure announces the diagnosis of a failed start, and returns it with the exit status.
func (s *Server) StartFailure(err error) (diagnostics.Diagnosis, int) {
	ev := s.Evidence(diagnostics.StageExec, nil, time.Time{})
	ev.Tool = s.Profile.Tool
	d, status := StartFailure(ev, err)
	d.Tool = ev.Tool
	return s.Announce(d), status
}

// StartFailure returns the diagnosis and the exit status for a failed start, of which ev tells.
func StartFailure(ev diagnostics.Evidence, err error) (diagnostics.Diagnosis, int) {
	var known *DiagnosedError
	var gaps *confine.GapError
	var start *confine.StartError
	switch {
	case errors.As(err, &known):
		return known.Diagnosis, known.ExitStatus
	case errors.As(err, &gaps):
		return gapFailure(ev.Server, gaps), statusJail
	case !errors.As(err, &start):
		d := diagnostics.JailFailure(ev.Server, err.Error(), nil)
		d.Fix = cmp.Or(diagnose.BuildFix(err, runtime.GOOS), d.Fix)
		return d, statusJail
	}
	ev.Stage = diagnostics.StageExec
	ev.Start = &diagnostics.Start{Step: start.Step, Errno: start.Errno, Detail: start.Detail, Fix: start.Fix}
	d, status := diagnose.Failure(ev), statusJail
	if start.Step == confine.StepExec {
		status = StatusFailed
	}
	return d, status
}

// gapFailure returns the diagnosis of a start that was refused because of gaps. Clients show one
// line, so it names one cause: missing namespaces if they are missing, else the first gap. The
// other gaps follow. The fix is for the named cause.
func gapFailure(server string, e *confine.GapError) diagnostics.Diagnosis {
	text := func(g confine.Gap) string { return g.What + ": " + g.Why }
	gaps, cause, fix := e.Gaps, "", ""
	if e.HostNamespaces.Answer == confine.No {
		cause, fix = "it does not allow user namespaces: "+e.HostNamespaces.Detail, e.HostNamespaces.Fix
	} else {
		cause, fix, gaps = text(gaps[0]), gaps[0].Fix, gaps[1:]
		if n := len(e.Gaps); n > 1 && !slices.ContainsFunc(e.Gaps, func(g confine.Gap) bool { return g.Platform == "" }) {
			cause = fmt.Sprintf("%d parts of it, as under every policy on macOS, the first of them: %s", n, cause)
		}
	}
	waives := e.Waive != nil && (e.HostNamespaces.Answer == confine.No || e.OfPlatform())
	var more []string
	for _, g := range gaps {
		more = append(more, text(g))
		if g.Fix != "" && g.Fix != confine.FixNamespaces && (g.Platform == "" || !waives) {
			more = append(more, "fix: "+g.Fix)
		}
	}
	if waives {
		if e.HostNamespaces.Answer == confine.No {
			more = append([]string{"without them, this does not hold:"}, more...)
		}
		if e.Gaps[0].Platform != "" {
			fix = "" // the line says it
		}
		fix = strings.TrimPrefix(fix+". Or, "+e.WaiveLine(), ". Or, ")
	}
	d := diagnostics.JailFailure(server, confine.ErrGaps.Error()+": "+cause, more)
	d.Explain = diagnostics.PageGap
	if e.HostNamespaces.Answer == confine.No {
		d.Explain = diagnostics.PageUserns
	}
	if fix != "" {
		d.Fix = fix
	}
	return d
}

// Diagnose makes a diagnosis and announces it. If the diagnosis is silent, and the server
// answered and still runs, it only records it.
func (s *Server) Diagnose(ev diagnostics.Evidence) diagnostics.Diagnosis {
	return s.tell(diagnose.Failure(ev), ev)
}

func (s *Server) tell(d diagnostics.Diagnosis, ev diagnostics.Evidence) diagnostics.Diagnosis {
	if d.Silent() && ev.Exit == nil && ev.Start == nil && ev.Timeout == 0 {
		s.recordDiagnosis(d)
		return d
	}
	return s.Announce(d)
}

// DiagnoseCall diagnoses a call that got no answer, or none that can be used.
func (s *Server) DiagnoseCall(ev diagnostics.Evidence) diagnostics.Diagnosis {
	d := diagnose.Failure(ev)
	s.nextStep(&d)
	return s.tell(d, ev)
}

// nextStep says in a diagnosis what helps beside a grant: the policy has it already, or the next call asks for it.
func (s *Server) nextStep(d *diagnostics.Diagnosis) {
	if d.Kept = s.Client.allowedSince(*d); d.Kept == "" {
		d.Asked = s.Client.Questions.refused(s, *d)
	}
}

// Announce announces a diagnosis, unless no request waits for the process.
func (s *Server) Announce(d diagnostics.Diagnosis) diagnostics.Diagnosis {
	if s.Quiet.Load() {
		return d
	}
	return s.Client.Announce(d)
}

// recordDiagnosis records a diagnosis, unless no request waits for the process.
func (s *Server) recordDiagnosis(d diagnostics.Diagnosis) {
	if !s.Quiet.Load() {
		s.Client.Record.addDiagnosis(d, false)
	}
}

type readsKey struct{}

// WithReads returns a context for a start whose jail is to record refused reads.
func WithReads(ctx context.Context) context.Context {
	return context.WithValue(ctx, readsKey{}, true)
}

// Reads reports whether WithReads made the context of a start.
func Reads(ctx context.Context) bool { return ctx.Value(readsKey{}) != nil }

func isRead(d policy.Denial) bool {
	return d.Axis == policy.AxisFs && (d.Operation == policy.OpRead.String() || d.Operation == policy.OpList.String())
}

// classifyReads sets Background in the refused reads of before the first call, whose time is nil until it
// comes. Programs look for many files at their start, and do without. certain says whether the jail
// recorded them because a session asked for it; otherwise they stay as they are.
func classifyReads(certain bool, denials []policy.Denial, first *time.Time) {
	for i, d := range denials {
		denials[i].Background = d.Background || certain && first != nil && isRead(d) && d.Latest().Before(*first)
	}
}

// withoutReads returns the denials without refused reads, if the jail recorded them because a session
// asked for it, and without what programs try to make in their own HOME in steps. A call that goes well
// does without them, and nothing is said of them.
func withoutReads(certain bool, denials []policy.Denial) []policy.Denial {
	return slices.DeleteFunc(slices.Clone(denials), func(d policy.Denial) bool {
		return d.Reason == policy.DeniedOwnHome || certain && isRead(d)
	})
}
