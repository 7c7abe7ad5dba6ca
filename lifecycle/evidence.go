package lifecycle

import (
	"errors"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	tailLines  = 20
	maxText    = 64 << 10 // bytes of a result that are searched
	maxRecords = 200      // diagnoses in a record
)

// evidence returns what is known about a failure at this moment. c is the failing request,
// or nil. since is when the failing work began; earlier denials are left out.
func (s *server) evidence(stage diagnostics.Stage, c *mcpproxy.Call, since time.Time) diagnostics.Evidence {
	ev := diagnostics.Evidence{
		Stage:           stage,
		Server:          s.profile.Server,
		Profile:         s.profile,
		FromCommandLine: s.client.config.FromCommandLine,
		CommandLine:     s.client.config.Line,
		Install:         s.client.config.Install,
		InstallScripts:  s.client.config.InstallScripts,
		Declare:         s.client.config.Declare,
		File:            s.client.config.File,
		Stateless:       s.stateless,
		Stderr:          s.tail.Lines(tailLines),
		RawStderr:       s.tail.RawLines(tailLines),
		Denials:         s.denials(since),
		HostFailures:    s.processes.hostFailures(since),
		Redactor:        s.redact,
		Unset:           s.unset,
		UserHome:        s.client.config.UserHome,
		SearchPath:      s.client.config.SearchPath,
		Exists:          s.client.config.Exists,
		Executable:      s.client.config.Executable,
		Canonical:       s.client.config.Canonical,
		Guarded:         s.client.config.Guarded,
		Shared:          s.client.config.Shared,
		Sensitive:       s.client.config.Sensitive,
		Try:             s.client.config.Try,
	}
	if given := s.clientRoots.Load(); given != nil {
		ev.Roots = *given
	}
	if c != nil {
		ev.Method, ev.Tool = string(c.Method), string(c.Tool)
	}
	return ev
}

// denials returns what the jail has refused since a time, the latest last.
func (s *server) denials(since time.Time) []policy.Denial {
	var out []policy.Denial
	for _, d := range s.processes.denials() {
		if d.Tool = s.profile.Tool; !d.Latest().Before(since) {
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b policy.Denial) int { return a.Latest().Compare(b.Latest()) })
	s.client.usual.classify(out, s.firstCall.at.Load())
	return out
}

// recordedDenials returns the denials of the server's processes for the record, and the rules that
// would grant them.
func (s *server) recordedDenials() (denials []policy.Denial, remedies []diagnostics.Hint) {
	ev := s.evidence(diagnostics.StageCall, nil, time.Time{})
	return s.redact.RedactDenials(ev.Denials), diagnostics.Remedies(ev)
}

// startFailure returns the diagnosis and the exit status for a failed start.
func (s *server) startFailure(err error) (diagnostics.Diagnosis, int) {
	var known *DiagnosedError
	if errors.As(err, &known) {
		d := known.Diagnosis
		d.Tool = s.profile.Tool
		return s.announce(d), known.ExitStatus
	}
	var gaps *confine.GapError
	if errors.As(err, &gaps) {
		d := gapFailure(s.profile.Server, gaps)
		d.Tool = s.profile.Tool
		return s.announce(d), statusJail
	}
	var start *confine.StartError
	if !errors.As(err, &start) {
		d := diagnostics.JailFailure(s.profile.Server, err.Error(), nil)
		if fix := diagnostics.BuildFix(err); fix != "" {
			d.Fix = fix
		}
		d.Tool = s.profile.Tool
		return s.announce(d), statusJail
	}
	ev := s.evidence(diagnostics.StageExec, nil, time.Time{})
	ev.Tool = s.profile.Tool
	ev.Start = &diagnostics.Start{Step: start.Step, Errno: start.Errno, Detail: start.Detail}
	if start.Step == confine.StepExec {
		return s.diagnose(ev), statusFailed
	}
	return s.diagnose(ev), statusJail
}

// gapFailure returns the diagnosis of a start that was refused because of gaps. Clients show one
// line, so it names one cause: missing namespaces if they are missing, else the first gap. The
// other gaps follow. The fix is that of the named cause.
func gapFailure(server string, e *confine.GapError) diagnostics.Diagnosis {
	line := func(g confine.Gap) string { return string(g.Axis) + ": " + g.What + ": " + g.Why }
	gaps, cause, fix := e.Gaps, "", ""
	if e.HostNamespaces.Answer == confine.No {
		cause, fix = "user namespaces are refused: "+e.HostNamespaces.Detail, e.HostNamespaces.Fix
	} else {
		cause, fix, gaps = line(gaps[0]), gaps[0].Fix, gaps[1:]
	}
	var more []string
	for _, g := range gaps {
		more = append(more, line(g))
		if g.Fix != "" && g.Fix != confine.FixNamespaces {
			more = append(more, "fix: "+g.Fix)
		}
	}
	if e.HostNamespaces.Answer == confine.No && e.Waive != nil {
		more = append([]string{"without them this does not hold:"}, more...)
		fix += "; " + confine.WaiveLine(e.Waive)
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

// diagnose makes a diagnosis and announces it. If the diagnosis is silent, and the server
// answered and still runs, it only records it.
func (s *server) diagnose(ev diagnostics.Evidence) diagnostics.Diagnosis {
	d := diagnostics.Diagnose(ev)
	if d.Silent() && ev.Exit == nil && ev.Start == nil && ev.Timeout == 0 {
		s.recordDiagnosis(d)
		return d
	}
	return s.announce(d)
}

// announce announces a diagnosis, unless no request waits for the process.
func (s *server) announce(d diagnostics.Diagnosis) diagnostics.Diagnosis {
	if s.quiet.Load() {
		return d
	}
	return s.client.announce(d)
}

// recordDiagnosis records a diagnosis, unless no request waits for the process.
func (s *server) recordDiagnosis(d diagnostics.Diagnosis) {
	if !s.quiet.Load() {
		s.client.recordDiagnosis(d)
	}
}
