package report

import (
	"cmp"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// ConfigFailure returns the diagnosis of an error in a configuration. message is
// mcp-jail's own text of one or more lines. The frame's message contains its first line,
// the hint all of it.
func ConfigFailure(server, message string) Diagnosis {
	d := ownFailure(CodeConfig, server, message)
	d.What = "the configuration has an error"
	d.Fix = "correct it; `mcp-jail check` shows every error"
	return d
}

// UsageFailure returns the diagnosis of an error in the command line of mcp-jail.
func UsageFailure(server, message string) Diagnosis {
	d := ownFailure(CodeConfig, server, message)
	d.What = "the command line of mcp-jail has an error"
	d.Fix = "correct it; `mcp-jail run --help` shows the usage"
	return d
}

// ExecFailure returns the diagnosis of a program that was not found or cannot be started,
// known before any attempt (a policy.CommandError).
func ExecFailure(server, message, fix string) Diagnosis {
	d := ownFailure(CodeExec, server, message)
	d.Attribution = None // the jail has no part in it
	d.What = "server " + show.Quote(server) + " could not be started"
	d.Fix = show.Line(cmp.Or(fix, "install the program, or correct `command`"))
	return d
}

// JailFailure returns the diagnosis of a jail that this host cannot build. gaps contains
// one line for each gap that is not waived.
func JailFailure(server, message string, gaps []string) Diagnosis {
	d := ownFailure(CodeJail, server, message)
	d.What = "server " + show.Quote(server) + " was not started"
	if server == "" {
		d.What = "the server was not started"
	}
	if len(gaps) > 0 {
		d.Detail = nil // the message of a GapError lists them too
	}
	for _, g := range gaps {
		d.Detail = append(d.Detail, ownLines(g)...)
	}
	d.Fix = "run `mcp-jail doctor`"
	return d
}

// ownFailure returns the diagnosis of a failure that mcp-jail itself reports.
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
