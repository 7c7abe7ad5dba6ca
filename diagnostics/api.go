package diagnostics

import (
	"io"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/redact"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/starts"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Digest returns an identifier of a profile's content, so that two sessions under the same
// profile can be recognised, or "" for nil. Values of secret variables do not enter it.
func Digest(p *policy.Profile) string {
	if p == nil {
		return ""
	}
	return p.Key()
}

// The types of evidence and diagnoses. The packages below diagnostics/internal describe each.
type (
	Evidence    = facts.Evidence
	Start       = facts.Start
	Exit        = facts.Exit
	Stage       = report.Stage
	Attribution = report.Attribution

	Diagnosis  = report.Diagnosis
	Hint       = report.Hint
	Code       = report.Code
	Page       = report.Page
	Record     = report.Record
	LostRecord = report.LostRecord
	Leak       = report.Leak
	Tools      = report.Tools

	Redactor     = redact.Redactor
	Tail         = redact.Tail
	StderrFilter = redact.StderrFilter
)

// The stages, the attributions, the codes and the members of answers and errors.
const StageExec, StageStartup, StageList, StageCall = report.StageExec, report.StageStartup, report.StageList, report.StageCall
const Certain, Likely, Possible, None = report.Certain, report.Likely, report.Possible, report.None
const CodeExec, CodeStartup, CodeDied, CodeConfig = report.CodeExec, report.CodeStartup, report.CodeDied, report.CodeConfig
const CodeJail, CodeTimeout, CodeTools, CodeLeak = report.CodeJail, report.CodeTimeout, report.CodeTools, report.CodeLeak
const DataFailure, DataDiagnosis, DataServer, MetaDenials = report.DataFailure, report.DataDiagnosis, report.DataServer, report.MetaDenials
const RecordVersion = report.RecordVersion

// StepExec is the step that starts the program. All other steps build the jail.
const StepExec = facts.StepExec

// The pages of docs/explain.
const PageFsRead, PageFsWrite, PageFsSensitive, PageFsProtected = report.PageFsRead, report.PageFsWrite, report.PageFsSensitive, report.PageFsProtected
const PageFsMove, PagePathArg, PageSocket, PageExecute = report.PageFsMove, report.PagePathArg, report.PageSocket, report.PageExecute
const PageProgram, PageArguments, PageBrowser, PageEnv = report.PageProgram, report.PageArguments, report.PageBrowser, report.PageEnv
const PageNetHost, PageNetAddress, PageNetName, PageNetScheme = report.PageNetHost, report.PageNetAddress, report.PageNetName, report.PageNetScheme
const PageNetRequest, PageNetLimit, PageNetUnreachable, PageSecret = report.PageNetRequest, report.PageNetLimit, report.PageNetUnreachable, report.PageSecret
const PageInbound = report.PageInbound
const PageLeak, PageLimitMemory, PageLimitProcesses, PageLimitFiles = report.PageLeak, report.PageLimitMemory, report.PageLimitProcesses, report.PageLimitFiles
const PageTimeout, PageProgramMissing, PageServerEnded, PageStdout = report.PageTimeout, report.PageProgramMissing, report.PageServerEnded, report.PageStdout
const PageMessage, PagePerCall, PagePossible, PageElsewhere = report.PageMessage, report.PagePerCall, report.PagePossible, report.PageElsewhere
const PageConfig, PageConflict, PageTrust, PageReload = report.PageConfig, report.PageConflict, report.PageTrust, report.PageReload
const PageUserns, PageGap, PageJail, PagePackageMissing = report.PageUserns, report.PageGap, report.PageJail, report.PagePackageMissing
const PagePackageInstall, PagePackageScripts, PagePinTools, PageUndo = report.PagePackageInstall, report.PagePackageScripts, report.PagePinTools, report.PageUndo
const PageRecord = report.PageRecord

// NewRedactor returns a Redactor of the variables of env that are marked Secret.
func NewRedactor(env []policy.Variable) *Redactor { return redact.NewRedactor(env) }

// NewTail returns a Tail that redacts with r, which may be nil.
func NewTail(r *Redactor) *Tail { return redact.NewTail(r) }

// NewStderrFilter returns a StderrFilter that writes to a writer. r may be nil.
func NewStderrFilter(to io.Writer, r *Redactor) *StderrFilter { return redact.NewStderrFilter(to, r) }

// ConfigFailure returns the diagnosis of an error in a configuration: message is of one or more lines.
func ConfigFailure(server, message string) Diagnosis { return report.ConfigFailure(server, message) }

// UsageFailure returns the diagnosis of an error in the command line of mcp-jail.
func UsageFailure(server, message string) Diagnosis { return report.UsageFailure(server, message) }

// ExecFailure returns the diagnosis of a program that was not found or cannot be started, known
// before any attempt (a policy.CommandError).
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
// those with DeniedNotGranted and DeniedAbsent, have the page of their axis.
func PageOfReason(r policy.DenialReason) Page { return report.PageOfReason(r) }

// PageOfCode returns the page about failures with a code and no known cause.
func PageOfCode(c Code) Page { return report.PageOfCode(c) }

// PageOfLimit returns the page about a limit, by its key.
func PageOfLimit(key string) Page { return report.PageOfLimit(key) }

// BuildFix returns the remedy for a shortage of the host that prevents the building of a
// jail, or "" for other errors. The system is named as in Evidence.
func BuildFix(err error, system string) string { return starts.BuildFix(err, system) }
