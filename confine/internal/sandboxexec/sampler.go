//go:build darwin || linux

package sandboxexec

import (
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
)

const (
	startPause = 10 * time.Millisecond
	longPause  = 200 * time.Millisecond
	shortPause = 10 * time.Millisecond // near a limit
)

// sampler compares what the processes of a server use with its limits. Between two samples a server
// can exceed a limit.
type sampler struct{ failed int }

// maxFailed is how many looks fail in a row before the server is ended: without them no limit holds,
// and a process could not be found at the end.
const maxFailed = 5

// look finds new processes, and ends the server if it exceeds a limit. It returns the pause before
// the next look.
func (s *supervisor) look() time.Duration {
	members, err := s.family.refresh()
	if err != nil {
		if s.sampler.failed++; s.sampler.failed >= maxFailed {
			s.exceeded(spec.KeyProcesses, "processes, which cannot be watched ("+err.Error()+")", s.spec.Limits.Processes, process{})
		}
		return shortPause
	}
	s.sampler.failed = 0
	if !s.running {
		return startPause
	}
	limits := s.spec.Limits
	used, largest := memoryOf(s.table, members)
	limit := int64(limits.MemoryMB) << 20
	switch {
	case limits.Processes > 1 && len(members) > limits.Processes:
		s.exceeded(spec.KeyProcesses, "processes", limits.Processes, process{})
	case limit > 0 && used > limit:
		s.exceeded(spec.KeyMemory, "memory", limits.MemoryMB, largest)
	case limit > 0 && used > limit/4*3, limits.Processes > 1 && len(members) > limits.Processes/4*3:
		return shortPause
	}
	return longPause
}

// memoryOf returns the resident memory of processes, and the largest one.
func memoryOf(t table, members []process) (used int64, largest process) {
	var most int64
	for _, p := range members {
		n, _ := t.resident(p.pid)
		if used += n; n >= most {
			most, largest = n, p
		}
	}
	return used, largest
}

// exceeded reports a limit that was exceeded, and ends the server.
func (s *supervisor) exceeded(key, what string, limit int, by process) {
	e := spec.Event{Kind: spec.EventLimit, Step: key, Detail: what, Num: limit, Pid: by.pid}
	if by.pid != 0 {
		e.Program = s.table.name(by.pid)
	}
	s.events.send(e)
	s.end()
}
