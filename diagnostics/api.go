package diagnostics

import (
	"bytes"
	"cmp"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/analysis"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// The types of evidence and diagnoses. The packages below diagnostics/internal describe each.
type (
	Evidence    = analysis.Evidence
	Start       = analysis.Start
	Exit        = analysis.Exit
	Stage       = report.Stage
	Attribution = report.Attribution

	Diagnosis  = report.Diagnosis
	Hint       = report.Hint
	Code       = report.Code
	Page       = report.Page
	Record     = report.Record
	LostRecord = report.LostRecord
	Kept       = report.Kept
	Made       = report.Made
	Restart    = report.Restart
	Leak       = report.Leak
	Tools      = report.Tools

	Redactor = report.Redactor
	Tail     = report.Tail
)

// The stages, the attributions, the codes and the members of answers and errors.
const StageExec, StageStartup, StageList, StageCall = report.StageExec, report.StageStartup, report.StageList, report.StageCall
const Certain, Likely, Possible, None = report.Certain, report.Likely, report.Possible, report.None
const CodeDied, CodeConfig, CodeJail = report.CodeDied, report.CodeConfig, report.CodeJail
const DataFailure, DataDiagnosis, DataServer, MetaDenials = report.DataFailure, report.DataDiagnosis, report.DataServer, report.MetaDenials
const RecordVersion = report.RecordVersion

// The help topics.
const PageFsWrite, PageNetHost, PageServerEnded, PageStdout = report.PageFsWrite, report.PageNetHost, report.PageServerEnded, report.PageStdout
const PageMessage, PagePerCall, PageToolOff, PageConfig = report.PageMessage, report.PagePerCall, report.PageToolOff, report.PageConfig
const PageConflict, PageTrust, PageReload, PageUserns = report.PageConflict, report.PageTrust, report.PageReload, report.PageUserns
const PageGap, PageJail, PagePackageInstall, PageUndo = report.PageGap, report.PageJail, report.PagePackageInstall, report.PageUndo
const PageRecord = report.PageRecord

// NewRedactor returns a Redactor of the variables of env that are marked Secret.
func NewRedactor(env []policy.Variable) *Redactor { return report.NewRedactor(env) }

// NewTail returns a Tail that redacts with r, which may be nil.
func NewTail(r *Redactor) *Tail { return report.NewTail(r) }

// NewStderrFilter returns a [report.StderrFilter] that writes to a writer. r may be nil. rows returns a line as the rows of a
// terminal. It is nil for a pipe.
func NewStderrFilter(to io.Writer, r *Redactor, rows func(line string) string) *report.StderrFilter {
	return report.NewStderrFilter(to, r, rows)
}

// ConfigFailure returns the diagnosis of an error in a configuration: message is of one or more lines.
func ConfigFailure(server, message string) Diagnosis { return report.ConfigFailure(server, message) }

// UsageFailure returns the diagnosis of an error in the command line of mcp-jail.
func UsageFailure(server, message string) Diagnosis { return report.UsageFailure(server, message) }

// ExecFailure returns the diagnosis of a program that was not found or cannot be started, known
// before any attempt (a resolve.CommandError).
func ExecFailure(server, message, fix string) Diagnosis {
	return report.ExecFailure(server, message, fix)
}

// JailFailure returns the diagnosis of a jail that this host cannot build. gaps contains one line for
// each gap that is not waived.
func JailFailure(server, message string, gaps []string) Diagnosis {
	return report.JailFailure(server, message, gaps)
}

// DecodeRecord decodes the output of Record.Encode.
func DecodeRecord(data []byte) (Record, error) { return report.DecodeRecord(data) }

// HasDiagnosis reports whether the output of Record.Encode is that of a session that failed.
func HasDiagnosis(data []byte) bool { return report.HasDiagnosis(data) }

// PageOfReason returns the page about refusals with a reason. Refusals without a reason, and
// those with DeniedNotGranted, DeniedAbsent and DeniedOwnHome, have the page of their axis.
func PageOfReason(r policy.DenialReason) Page { return report.PageOfReason(r) }

// PageOfCode returns the page about failures with a code and no known cause.
func PageOfCode(c Code) Page { return report.PageOfCode(c) }

// PageOfLimit returns the page about a limit, by its key.
func PageOfLimit(key string) Page { return report.PageOfLimit(key) }

// BuildFix returns the remedy for a shortage of the host that prevents the building of a
// jail, or "" for other errors. The system is named as in Evidence.
func BuildFix(err error, system string) string { return analysis.BuildFix(err, system) }

// MayBeOfJail reports, without much work, whether a result may name a thing that only the jail has.
func MayBeOfJail(p *policy.Profile, result []byte) bool {
	has := func(text string) bool { return bytes.Contains(result, []byte(text)) }
	return has("/tmp/") || has("localhost:") || has("127.0.0.1:") || p.HomePrivate && p.Home != "" && has(p.Home)
}

// OfJail returns a note about a call that succeeded: its result, in Text, names a file that is only in
// the jail's /tmp or in the server's own HOME, or a port at which only the jail listens; or the server
// tried a port of the jail's loopback in vain, at which this machine listens. ok is false for others.
func OfJail(ev Evidence) (d Diagnosis, ok bool) {
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
	f.Hint.Attribution, f.Hint.Cause = Possible, f.Note
	d = Diagnosis{Stage: ev.Stage, Server: ev.Server, Tool: ev.Tool, Answered: true}
	d.Happened(report.OfJail(ev.Tool))
	f.Refused, f.Whole = true, true
	setCauses(&d, c, []analysis.Finding{f})
	return d, true
}

// OfReplaced returns a note about a call that succeeded, although a file which a rule names was replaced since the
// start of the server.
func OfReplaced(ev Evidence, file string) Diagnosis {
	d := Diagnosis{Stage: ev.Stage, Server: ev.Server, Tool: ev.Tool, Answered: true}
	c := analysis.NewCase(&ev)
	d.Happened(report.OldFile(ev.Tool))
	return replaced(d, c, file)
}

func replaced(d Diagnosis, c *analysis.Case, file string) Diagnosis {
	d.Replaced = file
	return concluded(d, analysis.ReplacedFile(c, file), report.PageReplaced)
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
				f.Hint = Hint{Axis: policy.AxisFs, Target: path, Missing: "write", Explain: PageFsWrite}
				return f
			}
		}
	}
	for _, port := range analysis.Listening(c) {
		for _, line := range lines {
			if !slices.Contains(c.Profile.Inbound, port) && (strings.Contains(line, "localhost:") || strings.Contains(line, "127.0.0.1:")) && words.HasNumber(line, port) {
				return analysis.Finding{
					Note:   "the server listens at port " + strconv.Itoa(port) + ", and no port leads into the jail",
					Object: change.Object{Inbound: port}, Hint: Hint{Axis: policy.AxisNet, Target: "port " + strconv.Itoa(port), Missing: "inbound", Explain: report.PageInbound},
				}
			}
		}
	}
	return f
}

// happened sets what happened.
func happened(d *Diagnosis, ev *Evidence) {
	switch {
	case ev.Stage != StageCall || ev.Waiting || ev.Timeout > 0 || ev.Exit != nil:
	case onlyDenials(ev):
		d.Answered = true
		d.Happened(report.SomethingBlocked(report.DuringCall(ev.Tool)))
		return
	case ev.Tool != "":
		d.Happened(report.ToolFailed(ev.Tool))
		return
	}
	d.What = summary(ev)
}

func summary(ev *Evidence) string {
	server := report.Who(ev.Server)
	switch ev.Stage {
	case StageExec:
		if ev.Start != nil && ev.Start.Step != analysis.StepExec {
			return server + " was not started"
		}
		return server + " could not be started"
	case StageStartup:
		if ev.Waiting {
			return server + " has not answered yet"
		}
		if ev.Started {
			return server + " has started, and complains on stderr"
		}
		if ev.Timeout > 0 {
			return server + " gave no answer within " + seconds(ev.Timeout) + " of its start"
		}
		return server + " ended before its first answer" + ending(ev.Exit)
	}
	during := ""
	switch {
	case ev.Tool != "":
		during = report.DuringCall(ev.Tool)
	case ev.Method != "":
		during = " during " + show.Quote(ev.Method)
	}
	switch {
	case ev.Waiting:
		return server + " has not answered yet" + during
	case ev.Timeout > 0:
		return server + " gave no answer within " + seconds(ev.Timeout) + during
	case ev.Exit != nil:
		return server + " ended" + during + ending(ev.Exit)
	case ev.Method != "":
		return server + " failed" + during
	}
	return server + " failed"
}

// onlyDenials reports whether the call succeeded although the jail refused something.
// stderr is then unrelated.
func onlyDenials(ev *Evidence) bool {
	return ev.Stage == StageCall && ev.Tool != "" && ev.Exit == nil && ev.Timeout == 0 && ev.Start == nil &&
		len(ev.Denials) > 0 && len(ev.Unanswered) == 0 && strings.TrimSpace(ev.Text) == ""
}

func ending(e *Exit) string {
	if e == nil {
		return ""
	}
	if name := analysis.SignalName(e.Signal); name != "" {
		return " (" + name + ")"
	}
	if e.Code >= 0x80000000 { // of Windows, which numbers its faults so
		return " (exit status 0x" + strings.ToUpper(strconv.FormatInt(int64(e.Code), 16)) + ")"
	}
	return " (exit status " + strconv.Itoa(e.Code) + ")"
}

func seconds(d time.Duration) string {
	if d%time.Second == 0 {
		return strconv.Itoa(int(d/time.Second)) + " s"
	}
	return d.Round(time.Millisecond).String()
}

func hint(c *analysis.Case, f analysis.Finding) Hint {
	h := f.Hint
	if h.Explain == "" {
		h.Explain = pageOf(c, h)
	}
	h.Cause, h.Fix = show.Cut(h.Cause, report.MaxCause), show.Cut(f.Fix, 2*report.MaxCause)
	// Only now: a redacted name would match another rule.
	h.Target = show.Cut(strings.ToValidUTF8(c.Evidence.Redactor.Redact(h.Target), "\ufffd"), report.MaxTarget)
	return h
}

// mayOnly says what the server may do instead of what the jail has recorded, or "" if that is not about its rights.
func mayOnly(c *analysis.Case, f analysis.Finding) string {
	h := f.Hint
	if h.Attribution != Certain || f.Whole || h.Proposal.Denial() != "" {
		return ""
	}
	switch who := c.Who(); {
	case h.Axis == policy.AxisNet && (f.Hint.Explain == "" || f.Hint.Explain == PageNetHost) && h.Missing != "inbound":
		switch {
		case h.Target != "":
			return who + " may not reach " + c.Name(h.Target)
		case !slices.ContainsFunc(c.Profile.Net, func(r policy.NetRule) bool { return r.Allow }):
			return who + " has no network"
		}
	case h.Axis == policy.AxisIPC && filepath.IsAbs(h.Target):
		return who + " may not connect to " + c.Show(h.Target)
	case h.Axis == policy.AxisEnv:
		return who + " does not get the variable " + c.Name(h.Target)
	case h.Axis == policy.AxisFs && filepath.IsAbs(h.Target):
		at := cmp.Or(f.Object.Fs.Path, h.Target)
		missing := map[string]policy.Rights{"read": policy.Read, "write": policy.Write, "execute": policy.Execute}[h.Missing]
		return c.Lacks(at, missing)
	}
	return ""
}

func pageOf(c *analysis.Case, h Hint) Page {
	switch h.Axis {
	case policy.AxisFs:
		p := h.Proposal
		switch {
		case h.Missing == analysis.RightName(policy.Execute):
			return report.PageExecute
		case h.Missing != analysis.RightName(policy.Write) && (p.Is(policy.WhySensitive, policy.WhyLogin, policy.WhyKeyName) || p.IsZero() && c.IsSensitive(h.Target)):
			return report.PageFsSensitive
		case h.Missing != analysis.RightName(policy.Write):
			return report.PageFsRead
		case p.Verdict() == change.Never && len(p.Reasons) > 0 || p.IsZero() && c.IsNever(h.Target, policy.Write):
			return report.PageFsProtected
		}
		return PageFsWrite
	case policy.AxisNet:
		return PageNetHost
	case policy.AxisIPC:
		return report.PageSocket
	case policy.AxisEnv:
		return report.PageEnv
	case policy.AxisProcess:
		switch h.Missing {
		case analysis.RightName(policy.Execute):
			return report.PageExecute
		case "jail":
			return PageJail
		}
		return report.PageProgram
	}
	return ""
}
