package diagnostics

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// The keys of the limits table.
const (
	keyMemory    = "memory_mb"
	keyProcesses = "processes"
	keyOpenFiles = "open_files"
	keyFileSize  = "file_size_mb"
	keyMessage   = "message_mb"

	keyConnections = "connections"
	keyNetOut      = "net_out_mb"
)

// limit returns the value of a key, 0 for an unknown one.
func (a *analyzer) limit(key string) int {
	l := a.profile.Limits
	return map[string]int{
		keyMemory: l.MemoryMB, keyProcesses: l.Processes, keyOpenFiles: l.OpenFiles,
		keyFileSize: l.FileSizeMB, keyMessage: l.MessageMB,
		keyConnections: l.Connections, keyNetOut: l.NetOutMB,
	}[key]
}

// raiseLimit returns a finding with the line that doubles a limit.
func (a *analyzer) raiseLimit(key string) (f finding) {
	f.hint = Hint{Axis: policy.AxisLimits, Target: key, Missing: "limit", Explain: PageOfLimit(key)}
	if value := a.limit(key); value > 0 {
		f.grant = grant{limit: key, value: 2 * value}
	}
	return f
}

// analyzeLimitDenial analyzes a limit that the jail saw reached. The target contains the
// key and its value: "memory_mb = 64".
func (a *analyzer) analyzeLimitDenial(d policy.Denial, cause string) finding {
	key, value, _ := strings.Cut(d.Target, " ")
	value = strings.TrimPrefix(value, "= ")
	f := a.raiseLimit(key)
	f.refused = true
	f.hint.Attribution, f.hint.Target, f.hint.Cause = Certain, d.Target, cause
	if f.grant.isZero() {
		return f
	}
	limit := key + " = " + value
	switch where, full := strings.CutPrefix(d.Operation, "space in "); {
	case full:
		f.hint.Cause = show.Line(where) + " is full: it holds at most half of " + limit
	case key == keyMemory && d.PID > 0:
		f.hint.Cause = "the server's processes together used more than " + limit + ", so mcp-jail ended them all"
		if d.Program != "" {
			f.hint.Cause += "; the largest was " + show.Quote(filepath.Base(d.Program))
		}
	case key == keyProcesses:
		f.hint.Cause = "the server reached the limit " + limit + ": the kernel starts no further process or thread (EAGAIN)"
	default:
		f.hint.Cause = "the server reached the limit " + limit
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
	{keyProcesses, "EAGAIN", []string{"can't start new thread", "cannot start new thread", "cannot fork", "can't fork", "fork: retry", "unable to create native thread", "unable to create new native thread", "pthread_create failed", "failed to create new os thread", "failed to spawn thread"}, nil},
	{keyProcesses, "EAGAIN", []string{"eagain", "resource temporarily unavailable", "os error 11)", "errno 11]"}, []string{"fork", "spawn", "thread", "clone", "process"}},
	{keyOpenFiles, "EMFILE", []string{"emfile", "too many open files", "os error 24)", "errno 24]"}, nil},
	{keyFileSize, "EFBIG", []string{"efbig", "file too large", "file size limit exceeded", "os error 27)", "errno 27]"}, nil},
	{keyMemory, "ENOSPC", []string{"enospc", "no space left on device", "os error 28)", "errno 28]"}, []string{"/tmp", "/dev/shm"}},
}

// ephemeralHome returns the HOME of a call if it is kept in memory, or "".
func (a *analyzer) ephemeralHome() string {
	if e, _ := a.ev.Profile.Find(a.ev.Profile.Home); e.Ephemeral {
		return a.ev.Profile.Home
	}
	return ""
}

// limitFromText looks for messages that a limit causes.
func (a *analyzer) limitFromText(lines []string) (f finding, ok bool) {
	if a.ev.Profile == nil {
		return f, false
	}
	home := a.ephemeralHome()
	for _, line := range lines {
		lower := strings.ToLower(line)
		for _, l := range limitWords {
			if l.key == keyMemory && home != "" {
				l.with = append(slices.Clone(l.with), strings.ToLower(home))
			}
			if !said.ContainsAny(lower, l.words) || l.with != nil && !said.ContainsAny(lower, l.with) || a.limit(l.key) <= 0 {
				continue
			}
			if l.key == keyOpenFiles && strings.Contains(lower, "in system") {
				continue // ENFILE: the host's own limit
			}
			f := a.raiseLimit(l.key)
			what := "reaching the limit " + l.key + " = " + strconv.Itoa(a.limit(l.key)) + " looks like this (" + l.show + ")"
			if l.key == keyMemory {
				places := "a full /tmp or /dev/shm"
				if home != "" {
					places = "a full /tmp, /dev/shm or HOME, or a file of HOME that is too large to be copied"
				}
				what = places + ", each of half of memory_mb = " + strconv.Itoa(a.limit(l.key)) + ", looks like this (" + l.show + ")"
			}
			f.note = a.serverSaid(line) + "; " + what
			return f, true
		}
	}
	return f, false
}
