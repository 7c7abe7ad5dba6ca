package diagnostics

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// ConfigFailure returns the diagnosis of an error in a configuration. message is
// mcp-jail's own text of one or more lines. The frame's message contains its first line,
// the hint all of it.
func ConfigFailure(server, message string) Diagnosis {
	d := ownFailure(CodeConfig, server, message)
	d.What = "the configuration has an error"
	d.Fix = "correct it. To see every error: mcp-jail check"
	return d
}

// UsageFailure returns the diagnosis of an error in the command line of mcp-jail.
func UsageFailure(server, message string) Diagnosis {
	d := ownFailure(CodeConfig, server, message)
	d.What = "the command line of mcp-jail has an error"
	d.Fix = "correct it. To see the usage: mcp-jail run --help"
	return d
}

// ExecFailure returns the diagnosis of a program that was not found or cannot be started,
// known before any attempt (a resolve.CommandError).
func ExecFailure(server, message, fix string) Diagnosis {
	d := ownFailure(CodeExec, server, message)
	d.Attribution = None // the jail has no part in it
	d.What = Who(server) + " could not be started"
	d.Fix = show.Line(cmp.Or(fix, "install the program, or correct `command`"))
	return d
}

// JailFailure returns the diagnosis of a jail that this host cannot build. gaps contains
// one line for each gap that is not waived.
func JailFailure(server, message string, gaps []string) Diagnosis {
	d := ownFailure(CodeJail, server, message)
	d.What = Who(server) + " was not started"
	if len(gaps) > 0 {
		d.Detail = nil // the message of a GapError lists them too
	}
	for _, g := range gaps {
		d.Detail = append(d.Detail, ownLines(g)...)
	}
	d.Fix = "to see why: mcp-jail doctor"
	return d
}

func ownFailure(code Code, server, message string) Diagnosis {
	lines := ownLines(message)
	d := Diagnosis{Code: code, Stage: StageExec, Attribution: Certain, Server: server, Explain: PageOfCode(code)}
	if len(lines) > 0 {
		d.Cause = show.Cut(strings.TrimPrefix(lines[0], "error: "), MaxCause)
		d.Detail = lines[1:]
	}
	return d
}

// maxDetail bounds the lines of one error: a broken file can have thousands.
const maxDetail = 40

// ownLines splits text of mcp-jail into lines that are safe to print. The text may quote
// names from files.
func ownLines(s string) []string {
	var lines []string
	for _, l := range strings.Split(strings.TrimSpace(s), "\n") {
		if l = strings.TrimRight(l, "\r "); l != "" && len(lines) < maxDetail {
			lines = append(lines, show.Cut(show.Line(l), MaxCause))
		}
	}
	return lines
}

// Bounds of what is said about changed tools.
const (
	maxDifference  = 500 // bytes
	maxDifferences = 10
)

// Tools describes how the tools of a server differ from those that mcp-jail.lock pins.
type Tools struct {
	Server      string
	Differences []string // a line for each; text of the server is quoted in it
	Accept      string   // the command that makes them the pinned ones; "" if they cannot be compared
	Refused     bool     // the client does not get them
}

// Diagnosis returns the diagnosis of changed tools.
func (t Tools) Diagnosis() Diagnosis {
	d := Diagnosis{Code: CodeTools, Stage: StageList, Attribution: Certain, Server: t.Server, Explain: PagePinTools}
	d.Happened("the tools", toolsDiffer(t.Accept != "", t.Refused))
	for i, line := range t.Differences {
		switch line = show.Cut(show.Line(line), maxDifference); {
		case i == 0:
			d.Cause = line
		case i < maxDifferences:
			d.Detail = append(d.Detail, line)
		}
	}
	if n := len(t.Differences) - maxDifferences; n > 0 {
		d.Detail = append(d.Detail, fmt.Sprintf("and %d more differences", n))
	}
	switch {
	case t.Accept == "":
		d.Fix = `report it to the authors of the server; pin_tools = "off" for this server compares nothing`
	case t.Refused:
		d.Fix = "if you trust the new ones, run `" + show.Line(t.Accept) + "` and start the server again"
	default:
		d.Fix = "if you trust the new ones, run `" + show.Line(t.Accept) + "`"
	}
	return d
}

// Warnings returns the diagnosis as warnings, a line each.
func (d Diagnosis) Warnings() []string {
	lines := []string{"warning: " + d.What + ": " + d.Cause}
	for _, l := range d.Detail {
		lines = append(lines, "warning: and of "+Who(d.Server)+": "+strings.TrimLeft(l, " "))
	}
	return append(lines, "warning: "+d.Fix+d.Explain.Reference())
}

// Leak describes secrets in something that a server sends. It has their names only.
type Leak struct {
	Server, Tool string
	Place        string // "an answer", "a log message", "the URL of a request to api.example.com"
	Found        []leak.Found
	Declared     bool // the server has a table of its own, [servers.NAME]
	Blocked      bool // it is not sent on
}

func (l Leak) text() string {
	var all []string
	for _, f := range l.Found {
		if f.Form == leak.Token {
			all = append(all, "what looks like a token ("+f.Name+")")
		} else {
			all = append(all, "the value of "+show.Line(f.Name)+" ("+string(f.Form)+")")
		}
	}
	return strings.Join(all, ", and ")
}

// Diagnosis returns the diagnosis of a leak that is not sent on.
func (l Leak) Diagnosis() Diagnosis {
	return Diagnosis{
		Code: CodeLeak, Stage: StageCall, Attribution: Certain, Server: l.Server, Tool: l.Tool, Explain: PageLeak,
		What:  fmt.Sprintf(`%s of %s was not passed on, since leaks is "block"`, show.Line(l.Place), Who(l.Server)),
		Cause: "it has " + l.text(),
		Fix:   "have the server send it without that. " + l.line("warn") + " passes such messages on, with a warning",
	}
}

// Warning returns a line about a leak: that it was sent on, or that it was dropped.
func (l Leak) Warning() string {
	said := fmt.Sprintf("warning: %s sends %s in %s", Who(l.Server), l.text(), show.Line(l.Place))
	if l.Blocked {
		return said + `, which was dropped, since leaks is "block"` + PageLeak.Reference()
	}
	return said + ". If it must not be there, replace the secret. " + l.line("block") + " blocks such messages" + PageLeak.Reference()
}

func (l Leak) line(value string) string {
	table := "[defaults]"
	if l.Declared {
		table = "[servers." + show.Key(l.Server) + "]"
	}
	return fmt.Sprintf("leaks = %q under %s", value, table)
}

// Page is the name of a help topic, which `mcp-jail help NAME` prints. Names of
// pages never change. A test compares them with the pages.
type Page string

const (
	PageFsRead      Page = "fs-read"
	PageFsWrite     Page = "fs-write"
	PageFsSensitive Page = "fs-sensitive"
	PageFsProtected Page = "fs-protected"
	PageFsMove      Page = "fs-move"
	PagePathArg     Page = "path-argument"
	PageSocket      Page = "socket"

	PageExecute   Page = "execute"
	PageProgram   Page = "program"
	PageArguments Page = "arguments"
	PageEnv       Page = "env"

	PageNetHost        Page = "net-host"
	PageNetAddress     Page = "net-address"
	PageNetName        Page = "net-name"
	PageNetScheme      Page = "net-scheme"
	PageNetRequest     Page = "net-request"
	PageNetLimit       Page = "net-limit"
	PageNetUnreachable Page = "net-unreachable"
	PageNetProxy       Page = "net-proxy"
	PageInbound        Page = "inbound"
	PageSecret         Page = "secret"
	PageLeak           Page = "leak"

	PageLimitMemory    Page = "limit-memory"
	PageLimitProcesses Page = "limit-processes"
	PageLimitFiles     Page = "limit-files"
	PageTimeout        Page = "timeout"

	PageProgramMissing Page = "program-missing"
	PageServerEnded    Page = "server-ended"
	PageStdout         Page = "stdout"
	PageMessage        Page = "message"
	PagePerCall        Page = "per-call"
	PageToolOff        Page = "tool-off"
	PagePossible       Page = "possible"
	PageElsewhere      Page = "elsewhere"

	PageConfig   Page = "config"
	PageConflict Page = "conflict"
	PageTrust    Page = "trust"
	PageReload   Page = "reload"
	PageReplaced Page = "replaced"

	PageUserns Page = "userns"
	PageGap    Page = "gap"
	PageJail   Page = "jail"

	PagePackageMissing Page = "package-missing"
	PagePackageInstall Page = "package-install"
	PagePackageScripts Page = "package-scripts"
	PagePinTools       Page = "pin-tools"
	PageUndo           Page = "undo"
	PageRecord         Page = "record"
)

// Reference returns the words that name the page after a sentence. It returns "" for no page.
func (p Page) Reference() string {
	if p == "" {
		return ""
	}
	return " (" + p.command() + ")"
}

func (p Page) command() string { return "mcp-jail help " + show.Line(string(p)) }

// PageOfReason returns the page about refusals with a reason. Refusals without a reason, and
// those with DeniedNotGranted, DeniedAbsent and DeniedOwnHome, have the page of their axis.
func PageOfReason(r policy.DenialReason) Page {
	return map[policy.DenialReason]Page{
		policy.DeniedAddress: PageNetAddress, policy.DeniedWrongName: PageNetName, policy.DeniedAmbiguous: PageNetName,
		policy.DeniedWrongScheme: PageNetScheme, policy.DeniedRequest: PageNetRequest, policy.DeniedLimit: PageNetLimit,
		policy.DeniedUnsupported: PageNetUnreachable, policy.DeniedSecret: PageSecret, policy.DeniedLeak: PageLeak,
		policy.DeniedArguments: PageArguments,
	}[r]
}

// PageOfCode returns the page about failures with a code and no known cause.
func PageOfCode(c Code) Page {
	return map[Code]Page{
		CodeExec: PageProgramMissing, CodeStartup: PageServerEnded, CodeDied: PageServerEnded, CodeConfig: PageConfig,
		CodeJail: PageJail, CodeTimeout: PageTimeout, CodeTools: PagePinTools, CodeLeak: PageLeak,
	}[c]
}

// PageOfLimit returns the page about a limit, by its key.
func PageOfLimit(key string) Page {
	return map[string]Page{
		KeyMemory: PageLimitMemory, KeyProcesses: PageLimitProcesses, KeyOpenFiles: PageLimitFiles, KeyFileSize: PageLimitFiles,
		KeyMessage: PageMessage,
	}[key]
}

// The keys of the limits table.
const (
	KeyMemory    = "memory_mb"
	KeyProcesses = "processes"
	KeyOpenFiles = "open_files"
	KeyFileSize  = "file_size_mb"
	KeyMessage   = "message_mb"
)
