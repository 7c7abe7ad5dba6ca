package limits

import (
	"strconv"
	"syscall"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
)

// AnalyzeSignal analyzes the signals by which limits and filters end a process.
func AnalyzeSignal(c *facts.Case) (f facts.Finding, ok bool) {
	if c.Evidence.Exit == nil || c.Evidence.Profile == nil {
		return f, false
	}
	if c.Evidence.Unread {
		return facts.Finding{Note: "it was ended by mcp-jail: it did not read the answers to its own requests, and mcp-jail had no memory for more of them"}, true
	}
	limits := c.Profile.Limits
	switch sig := c.Evidence.Exit.Signal; {
	case sig == syscall.SIGKILL && limits.MemoryMB > 0 && c.Evidence.Timeout == 0:
		f := Raise(c, report.KeyMemory)
		f.Note = "it was killed, which happens when the jail's processes use more than memory_mb = " + strconv.Itoa(limits.MemoryMB)
		f.Fix = "it may need more memory"
		return f, true
	case facts.SignalName(sig) == "SIGSYS":
		return facts.Finding{Note: "a seccomp filter ended it because of a system call: the filter of the jail, or one of its own"}, true
	case facts.SignalName(sig) == "SIGXFSZ" && limits.FileSizeMB > 0:
		f := Raise(c, report.KeyFileSize)
		f.Note = "it wrote a file larger than a limit such as file_size_mb = " + strconv.Itoa(limits.FileSizeMB)
		f.Fix = "if it needs larger files"
		return f, true
	}
	return f, false
}
