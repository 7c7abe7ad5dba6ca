package analysis

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

func limit(c *Case, key string) int {
	l := c.Profile.Limits
	return map[string]int{
		diagnostics.KeyMemory: l.MemoryMB, diagnostics.KeyProcesses: l.Processes, diagnostics.KeyOpenFiles: l.OpenFiles,
		diagnostics.KeyFileSize: l.FileSizeMB, diagnostics.KeyMessage: l.MessageMB,
	}[key]
}

// raiseLimit returns a finding with the line that doubles a limit.
func raiseLimit(c *Case, key string) (f Finding) {
	f.Hint = diagnostics.Hint{Axis: policy.AxisLimits, Target: key, Missing: "limit", Explain: diagnostics.PageOfLimit(key)}
	if value := limit(c, key); value > 0 {
		f.Object.Setting = change.Setting{Key: key, Value: strconv.Itoa(2 * value)}
	}
	return f
}

// AnalyzeLimit analyzes a limit that the jail saw reached. The target contains the
// key and its value: "memory_mb = 64".
func AnalyzeLimit(c *Case, d policy.Denial, cause string) Finding {
	key, value, _ := strings.Cut(d.Target, " ")
	value = strings.TrimPrefix(value, "= ")
	f := raiseLimit(c, key)
	f.Refused = true
	f.Hint.Attribution, f.Hint.Target, f.Hint.Cause = diagnostics.Certain, d.Target, cause
	if f.Object.IsZero() {
		return f
	}
	limit := key + " = " + value
	switch where, full := strings.CutPrefix(d.Operation, "space in "); {
	case full:
		f.Hint.Cause = show.Line(where) + " is full: it holds at most half of " + limit
	case key == diagnostics.KeyMemory && c.Windows():
		f.Hint.Cause = "the server's processes together asked for more than " + limit + ", and Windows gave them no more"
	case key == diagnostics.KeyProcesses && c.Windows():
		f.Hint.Cause = "the server reached the limit " + limit + ": Windows starts no further process"
	case key == diagnostics.KeyMemory && d.PID > 0:
		f.Hint.Cause = "the server's processes together used more than " + limit + ", so mcp-jail ended them all"
		if d.Program != "" {
			f.Hint.Cause += ". The largest was " + show.Quote(filepath.Base(d.Program))
		}
	case key == diagnostics.KeyProcesses && c.mac():
		f.Hint.Cause = "the server had more processes than " + limit + ", so mcp-jail ended them all"
	case key == diagnostics.KeyProcesses:
		f.Hint.Cause = "the server reached the limit " + limit + ": the kernel starts no further process or thread (EAGAIN)"
	default:
		f.Hint.Cause = "the server reached the limit " + limit
	}
	return f
}

// NamedLimit returns the finding that failing words tell of a limit.
func NamedLimit(c *Case, key string) (f Finding, ok bool) {
	if value := limit(c, key); value <= 0 || c.mac() && key != diagnostics.KeyOpenFiles && key != diagnostics.KeyFileSize { // there the others end the jail
		return f, false
	}
	f = raiseLimit(c, key)
	f.Refused = true
	f.Hint.Attribution, f.Hint.Cause = diagnostics.Likely, "the server reached the limit "+key+" = "+strconv.Itoa(limit(c, key))
	return f, true
}

// AnalyzeSignal analyzes the signals by which limits and filters end a process.
func AnalyzeSignal(c *Case) (f Finding, ok bool) {
	if c.Evidence.Exit == nil || c.Evidence.Profile == nil {
		return f, false
	}
	if c.Evidence.Unread {
		return Finding{Note: "mcp-jail ended it: it did not read the answers to its own requests, and mcp-jail had no memory for more of them"}, true
	}
	limits := c.Profile.Limits
	switch sig := c.Evidence.Exit.Signal; {
	case sig == syscall.SIGKILL && limits.MemoryMB > 0 && c.Evidence.Timeout == 0:
		f := raiseLimit(c, diagnostics.KeyMemory)
		f.Note = "it was killed, which happens when the jail's processes use more than memory_mb = " + strconv.Itoa(limits.MemoryMB)
		f.Fix = "it may need more memory"
		return f, true
	case SignalName(sig) == "SIGSYS" && !c.mac():
		return Finding{Note: "a seccomp filter ended it because of a system call: the filter of the jail, or one of its own"}, true
	case SignalName(sig) == "SIGXFSZ" && limits.FileSizeMB > 0:
		f := raiseLimit(c, diagnostics.KeyFileSize)
		f.Note = "it wrote a file larger than a limit such as file_size_mb = " + strconv.Itoa(limits.FileSizeMB)
		f.Fix = "if it needs larger files"
		return f, true
	}
	return f, false
}

// signalNames maps the system's description of a signal to its name. Numbers and constants
// differ between systems. These descriptions do not.
func signalNames() map[string]string {
	return map[string]string{
		"hangup": "SIGHUP", "interrupt": "SIGINT", "quit": "SIGQUIT", "illegal instruction": "SIGILL",
		"trace/breakpoint trap": "SIGTRAP", "trace/BPT trap": "SIGTRAP", "aborted": "SIGABRT", "abort trap": "SIGABRT",
		"bus error": "SIGBUS", "floating point exception": "SIGFPE", "killed": "SIGKILL",
		"user defined signal 1": "SIGUSR1", "user defined signal 2": "SIGUSR2",
		"segmentation fault": "SIGSEGV", "broken pipe": "SIGPIPE", "alarm clock": "SIGALRM", "terminated": "SIGTERM",
		"CPU time limit exceeded": "SIGXCPU", "cputime limit exceeded": "SIGXCPU",
		"file size limit exceeded": "SIGXFSZ", "filesize limit exceeded": "SIGXFSZ",
		"bad system call": "SIGSYS",
	}
}

// SignalName returns the name of a signal, or "" for none.
func SignalName(s syscall.Signal) string {
	if s == 0 {
		return ""
	}
	if name := signalNames()[s.String()]; name != "" {
		return name
	}
	return s.String()
}
