//go:build darwin || linux

package sandboxexec

import (
	"maps"
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"golang.org/x/sys/unix"
)

// process is a living process as the system's table shows it. Its number and the time of its start
// name it together: numbers are used again.
type process struct {
	pid, parent int
	start       int64 // in the system's own unit
}

// table is what a system tells about processes. Every method may be called while wait waits.
type table interface {
	// processes returns the living processes of this user.
	processes() ([]process, error)
	// session returns the session of a process, or 0.
	session(pid int) int
	// follow makes wait return when a process forks, executes a program or ends.
	follow(pid int)
	// wait returns when a followed process does something, and otherwise after a time.
	wait(time.Duration)
	// resident returns how many bytes of memory a process uses. known is false where the system does
	// not tell.
	resident(pid int) (bytes int64, known bool)
	// name returns the name of a process's program, or "".
	name(pid int) string
	close()
}

// family is the processes of one server: those of its session, their descendants, and each that was
// one of these once. A process that leaves the session and whose parent ends before it was seen is
// not found: the plan has that as a gap.
type family struct {
	table  table
	root   int           // the first process, which leads the session
	born   int64         // the time of its start; 0: it was not seen yet
	above  int           // a process that has no other children than members; 0: none
	known  map[int]int64 // the members, with the time of their start
	others map[int]int64 // processes that are no members. They cannot become members
	joined func(process) // called for each new member outside of the session; nil: not at all
}

func newFamily(t table, root int) *family {
	t.follow(root)
	return &family{table: t, root: root, known: map[int]int64{}, others: map[int]int64{}}
}

// refresh looks at the system's table. It returns the members that live.
func (f *family) refresh() ([]process, error) {
	all, err := f.table.processes()
	if err != nil {
		return nil, err
	}
	now := make(map[int]int64, len(all))
	for _, p := range all {
		now[p.pid] = p.start
	}
	forget := func(seen map[int]int64) {
		for pid, start := range seen {
			if s, lives := now[pid]; !lives || s != start {
				delete(seen, pid)
			}
		}
	}
	forget(f.known)
	forget(f.others)
	if f.born == 0 {
		f.born = now[f.root]
	}
	start, lives := now[f.root]
	f.adopt(all, lives && start != f.born)
	var members []process
	for _, p := range all {
		if _, member := f.known[p.pid]; member {
			members = append(members, p)
		} else if _, seen := now[p.parent]; seen || p.parent <= 1 { // else the parent may be a member that the table lacks
			f.others[p.pid] = p.start
		}
	}
	return members, nil
}

// adopt adds the new processes of all that belong to the family. reused tells that another process
// has the number of the first one now, and so perhaps a session of that number.
func (f *family) adopt(all []process, reused bool) {
	sessions := map[int]int{}
	belongs := func(p process) bool {
		if !f.possible(p) {
			return false
		}
		if _, child := f.known[p.parent]; child || f.above != 0 && p.parent == f.above {
			return true
		}
		if reused {
			return false
		}
		if _, asked := sessions[p.pid]; !asked {
			sessions[p.pid] = f.table.session(p.pid)
		}
		return p.pid == f.root || sessions[p.pid] == f.root
	}
	for more := true; more; {
		more = false
		for _, p := range all {
			_, member := f.known[p.pid]
			_, other := f.others[p.pid]
			if member || other || !belongs(p) {
				continue
			}
			f.known[p.pid], more = p.start, true
			f.table.follow(p.pid)
			if f.joined != nil && p.pid != f.root && f.table.session(p.pid) != f.root {
				f.joined(p)
			}
		}
	}
}

// possible reports whether a process can be a member at all. Never are the first process of the
// system, this process, and one that is older than the first of the family: a signal to such a one
// would end another program's processes.
func (f *family) possible(p process) bool {
	return p.pid > 1 && p.pid != os.Getpid() && p.pid != f.above && f.born != 0 && p.start >= f.born
}

const (
	killTime  = 2 * time.Second      // for the end of all members
	killPause = 2 * time.Millisecond // between two rounds
)

// kill ends all members. In each round it stops them first, so that none forks between the look and
// the kill. It returns those that still live after killTime.
func (f *family) kill() (left []int) {
	deadline := time.Now().Add(killTime)
	for empty := 0; empty < 2; time.Sleep(killPause) {
		members, err := f.refresh()
		if err == nil && len(members) == 0 {
			empty++
			continue
		}
		empty = 0
		f.signal(unix.SIGSTOP)
		if _, err := f.refresh(); err == nil {
			f.signal(unix.SIGSTOP)
		}
		f.signal(unix.SIGKILL)
		if time.Now().After(deadline) {
			for _, p := range members {
				left = append(left, p.pid)
			}
			return left
		}
	}
	return nil
}

// signal sends a signal to every known member.
func (f *family) signal(sig unix.Signal) {
	for pid := range f.known {
		if pid > 1 { // 0 and below name groups
			unix.Kill(pid, sig)
		}
	}
}

// EndSession ends the processes of a server whose supervisor has ended: those of its session, which
// leader leads or led, and the other members. Each has the time of its start. It returns a warning
// about those that it could not end.
func EndSession(leader int, members map[int]int64) []spec.Event {
	if members[leader] == 0 {
		return nil // it ended before it was seen, and its number may be another process's by now
	}
	t, err := openTable()
	if err != nil {
		return []spec.Event{survivors([]int{leader})}
	}
	defer t.close()
	f := newFamily(t, leader)
	f.known, f.born = maps.Clone(members), members[leader]
	if left := f.kill(); len(left) > 0 {
		return []spec.Event{survivors(left)}
	}
	return nil
}
