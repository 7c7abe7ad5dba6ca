package mediate

import (
	"os"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Afresh has everything reported again that the server does from now on. It reports the counts
// of what was seen before, and then sends done, if it is not nil.
func (r *Reporter) Afresh(done *spec.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.sighted.flush() {
		r.Say(m)
	}
	r.callers = nil
	if done != nil {
		r.Say(*done)
	}
}

// saw reports something that the jail let the server do to a path.
func (r *Reporter) saw(req *Request, operation, target string, seen spec.Seen) {
	if r.Watch == spec.WatchAll {
		r.sawMore(req, spec.Sighting{Axis: policy.AxisFs, Operation: operation, Target: clip(target), Seen: seen})
	}
}

// sawRefused reports a refusal in the words of policy.Observation.
func (r *Reporter) sawRefused(req *Request, axis policy.Axis, operation, target string, absent bool) {
	if r.Watch != spec.WatchAll {
		return
	}
	s := spec.Sighting{Axis: axis, Operation: operation, Target: clip(target), Seen: spec.SeenRefused}
	switch operation {
	case "exec":
		s.Operation = policy.OpExec.String()
	case "rename":
		s.Operation = policy.OpCreate.String()
	case policy.OpList.String(), policy.OpMkdir.String():
		s.Seen |= spec.SeenDir
	}
	if absent {
		s.Seen |= spec.SeenAbsent
	}
	r.sawMore(req, s)
}

// sawMore reports a sighting, if it is new.
func (r *Reporter) sawMore(req *Request, s spec.Sighting) {
	if int(req.N.Tid) == r.Self {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	as, report := r.sighted.add(s)
	if !report {
		return
	}
	m := as.Event(1)
	by := r.caller(req)
	m.Pid, m.Program = by.pid, by.program
	r.Say(m)
}

// caller is the process that makes a call, and its program.
type caller struct {
	pid     int
	program string
}

// maxCallers bounds the callers that are remembered.
const maxCallers = 256

// caller returns who makes a call. Its caller holds r.mu. It remembers the answer until the thread
// executes a program: to ask is slower than all the rest. If a thread's number has been given to
// another one meanwhile, the record names the wrong program.
func (r *Reporter) caller(req *Request) (by caller) {
	tid := req.N.Tid
	by, known := r.callers[tid]
	if !known || req.Op == seccomp.OpExec {
		sys.OnUnrestrictedThread(func() {
			by.program, _ = os.Readlink(proc.ThreadFile(int(tid), "exe"))
			by.pid = proc.NSPid(int(tid))
		})
		if r.callers == nil || len(r.callers) >= maxCallers {
			r.callers = map[uint32]caller{}
		}
		r.callers[tid] = by
	}
	if req.Op == seccomp.OpExec {
		clear(r.callers)
	}
	return by
}
