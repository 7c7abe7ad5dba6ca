package diagnostics

import (
	"slices"
	"strconv"
	"strings"

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

// limit is the value of a key, 0 for an unknown one.
func (j *analyzer) limit(key string) int {
	l := j.profile.Limits
	return map[string]int{
		keyMemory: l.MemoryMB, keyProcesses: l.Processes, keyOpenFiles: l.OpenFiles,
		keyFileSize: l.FileSizeMB, keyMessage: l.MessageMB,
		keyConnections: l.Connections, keyNetOut: l.NetOutMB,
	}[key]
}

// raiseLimit is a verdict with the line that doubles a limit.
func (j *analyzer) raiseLimit(key string) (v finding) {
	v.hint = Hint{Axis: policy.AxisLimits, Target: key, Missing: "limit"}
	if value := j.limit(key); value > 0 {
		v.grant = grant{limit: key, value: 2 * value}
	}
	return v
}

// analyzeLimitDenial judges a limit that the jail saw being reached. The target names
// the key and its value: "memory_mb = 64".
func (j *analyzer) analyzeLimitDenial(d Denial, cause string) finding {
	key, value, _ := strings.Cut(d.Target, " ")
	value = strings.TrimPrefix(value, "= ")
	v := j.raiseLimit(key)
	v.refused = true
	v.hint.Attribution, v.hint.Target, v.hint.Cause = Certain, d.Target, cause
	if v.grant.isZero() {
		return v
	}
	limit := key + " = " + value
	switch where, full := strings.CutPrefix(d.Operation, "space in "); {
	case full:
		v.hint.Cause = sanitize(where) + " is full: it holds at most half of " + limit
	case key == keyMemory && d.PID > 0:
		v.hint.Cause = "the server's processes together used more than " + limit + ": the jail ended the largest" + d.programAndCount()
	case key == keyProcesses:
		v.hint.Cause = "the server reached the limit " + limit + ": the kernel starts no further process or thread (EAGAIN)"
	default:
		v.hint.Cause = "the server reached the limit " + limit
	}
	return v
}

// limitWords are what runtimes print when a limit refuses them something, in
// lower case. Of each row a word must be there, and one of with where it is set:
// EAGAIN for instance has many causes. No row is more than Possible, since whole
// disks fill up and hosts run out of processes too.
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

// ephemeralHome is the HOME of a call, which is memory as well; "" for one that is kept.
func (j *analyzer) ephemeralHome() string {
	if e, _ := j.ev.Profile.Find(j.ev.Profile.Home); e.Ephemeral {
		return j.ev.Profile.Home
	}
	return ""
}

// limitFromText looks for words that a limit brings about.
func (j *analyzer) limitFromText(lines []string) (v finding, ok bool) {
	if j.ev.Profile == nil {
		return v, false
	}
	home := j.ephemeralHome()
	for _, line := range lines {
		lower := strings.ToLower(line)
		for _, l := range limitWords {
			if l.key == keyMemory && home != "" {
				l.with = append(slices.Clone(l.with), strings.ToLower(home))
			}
			if !containsAny(lower, l.words) || l.with != nil && !containsAny(lower, l.with) || j.limit(l.key) <= 0 {
				continue
			}
			if l.key == keyOpenFiles && strings.Contains(lower, "in system") {
				continue // ENFILE: the host's own limit
			}
			v := j.raiseLimit(l.key)
			what := "the limit " + l.key + " = " + strconv.Itoa(j.limit(l.key)) + " looks like this (" + l.show + ")"
			if l.key == keyMemory {
				places := "a full /tmp or /dev/shm"
				if home != "" {
					places = "a full /tmp, /dev/shm or HOME, or a file of HOME that is too large to be copied"
				}
				what = places + ", each of half of memory_mb = " + strconv.Itoa(j.limit(l.key)) + ", looks like this (" + l.show + ")"
			}
			v.note = j.serverSaid(line) + "; " + what
			return v, true
		}
	}
	return v, false
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
