package limits

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

func limit(c *facts.Case, key string) int {
	l := c.Profile.Limits
	return map[string]int{
		report.KeyMemory: l.MemoryMB, report.KeyProcesses: l.Processes, report.KeyOpenFiles: l.OpenFiles,
		report.KeyFileSize: l.FileSizeMB, report.KeyMessage: l.MessageMB,
		report.KeyConnections: l.Connections, report.KeyNetOut: l.NetOutMB,
	}[key]
}

// Raise returns a finding with the line that doubles a limit.
func Raise(c *facts.Case, key string) (f facts.Finding) {
	f.Hint = report.Hint{Axis: policy.AxisLimits, Target: key, Missing: "limit", Explain: report.PageOfLimit(key)}
	if value := limit(c, key); value > 0 {
		f.Grant = grants.Grant{Limit: key, Value: 2 * value}
	}
	return f
}

// AnalyzeDenial analyzes a limit that the jail saw reached. The target contains the
// key and its value: "memory_mb = 64".
func AnalyzeDenial(c *facts.Case, d policy.Denial, cause string) facts.Finding {
	key, value, _ := strings.Cut(d.Target, " ")
	value = strings.TrimPrefix(value, "= ")
	f := Raise(c, key)
	f.Refused = true
	f.Hint.Attribution, f.Hint.Target, f.Hint.Cause = report.Certain, d.Target, cause
	if f.Grant.IsZero() {
		return f
	}
	limit := key + " = " + value
	switch where, full := strings.CutPrefix(d.Operation, "space in "); {
	case full:
		f.Hint.Cause = show.Line(where) + " is full: it holds at most half of " + limit
	case key == report.KeyMemory && c.Windows():
		f.Hint.Cause = "the server's processes together asked for more than " + limit + ", and Windows gave them no more"
	case key == report.KeyProcesses && c.Windows():
		f.Hint.Cause = "the server reached the limit " + limit + ": Windows starts no further process"
	case key == report.KeyMemory && d.PID > 0:
		f.Hint.Cause = "the server's processes together used more than " + limit + ", so mcp-jail ended them all"
		if d.Program != "" {
			f.Hint.Cause += "; the largest was " + show.Quote(filepath.Base(d.Program))
		}
	case key == report.KeyProcesses && c.Mac():
		f.Hint.Cause = "the server had more processes than " + limit + ", so mcp-jail ended them all"
	case key == report.KeyProcesses:
		f.Hint.Cause = "the server reached the limit " + limit + ": the kernel starts no further process or thread (EAGAIN)"
	default:
		f.Hint.Cause = "the server reached the limit " + limit
	}
	return f
}

// limitWords lists the messages of runtimes, in lower case, when a limit is reached. A
// line must contain one of words and, where with is set, one of with, because errors such
// as EAGAIN have many causes. A match is never more than Possible: disks fill up and hosts
// run out of processes too.
var limitWords = []struct {
	key, show   string
	words, with []string
}{
	{report.KeyProcesses, "EAGAIN", []string{"can't start new thread", "cannot start new thread", "cannot fork", "can't fork", "fork: retry", "unable to create native thread", "unable to create new native thread", "pthread_create failed", "failed to create new os thread", "failed to spawn thread"}, nil},
	{report.KeyProcesses, "EAGAIN", []string{"eagain", "resource temporarily unavailable", "os error 11)", "errno 11]", "os error 35)", "errno 35]"}, []string{"fork", "spawn", "thread", "clone", "process"}},
	{report.KeyOpenFiles, "EMFILE", []string{"emfile", "too many open files", "os error 24)", "errno 24]"}, nil},
	{report.KeyFileSize, "EFBIG", []string{"efbig", "file too large", "file size limit exceeded", "os error 27)", "errno 27]"}, nil},
	{report.KeyMemory, "ENOSPC", []string{"enospc", "no space left on device", "os error 28)", "errno 28]"}, []string{"/tmp", "/dev/shm"}},
}

// copiesIn returns the paths of the directories that are in memory because the server has a copy, and
// their names in messages.
func copiesIn(p *policy.Profile) (paths, names []string) {
	for _, e := range p.Entries {
		if !e.Ephemeral {
			continue
		}
		name := e.Path
		if e.Path == p.Home {
			name = "HOME"
		}
		paths, names = append(paths, strings.ToLower(e.Path)), append(names, name)
	}
	return paths, names
}

// kernelHolds reports whether the kernel of macOS holds a limit, so that a server notices it. The others
// are sampled, and end the jail: no directory is in memory, and no process is refused but the second one.
func kernelHolds(key string) bool { return key == report.KeyOpenFiles || key == report.KeyFileSize }

// Analyze looks for messages that a limit causes.
func Analyze(c *facts.Case, lines []string) (f facts.Finding, ok bool) {
	if c.Evidence.Profile == nil {
		return f, false
	}
	if c.Windows() {
		return analyzeWindows(c, lines)
	}
	copies, names := copiesIn(c.Evidence.Profile)
	for _, line := range lines {
		lower := strings.ToLower(line)
		for _, l := range limitWords {
			// A copy in memory fills up as /tmp does.
			if l.key == report.KeyMemory {
				l.with = slices.Concat(l.with, copies)
			}
			if l.key == report.KeyProcesses && limit(c, l.key) < policy.DefaultLimits.Processes {
				l.with = nil // with few processes, the likeliest of the causes of EAGAIN
			}
			if !said.ContainsAny(lower, l.words) || l.with != nil && !said.ContainsAny(lower, l.with) || limit(c, l.key) <= 0 {
				continue
			}
			if c.Mac() && !kernelHolds(l.key) {
				continue
			}
			if l.key == report.KeyOpenFiles && strings.Contains(lower, "in system") {
				continue // ENFILE: the host's own limit
			}
			f := Raise(c, l.key)
			what := "reaching the limit " + l.key + " = " + strconv.Itoa(limit(c, l.key)) + " looks like this (" + l.show + ")"
			if l.key == report.KeyMemory {
				places := "a full /tmp or /dev/shm"
				if names != nil {
					last := strings.Join(names, " or ")
					places = "a full /tmp, /dev/shm or " + last + ", or a file of " + last + " that is too large to be copied"
				}
				what = places + ", each of half of memory_mb = " + strconv.Itoa(limit(c, l.key)) + ", looks like this (" + l.show + ")"
			}
			f.Note = c.ServerSaid(line) + "; " + what
			return f, true
		}
	}
	return f, false
}

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
	case facts.SignalName(sig) == "SIGSYS" && !c.Mac():
		return facts.Finding{Note: "a seccomp filter ended it because of a system call: the filter of the jail, or one of its own"}, true
	case facts.SignalName(sig) == "SIGXFSZ" && limits.FileSizeMB > 0:
		f := Raise(c, report.KeyFileSize)
		f.Note = "it wrote a file larger than a limit such as file_size_mb = " + strconv.Itoa(limits.FileSizeMB)
		f.Fix = "if it needs larger files"
		return f, true
	}
	return f, false
}
