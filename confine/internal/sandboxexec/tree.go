//go:build darwin || linux

package sandboxexec

import (
	"maps"
	"os"
	"slices"
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
	signal(pid int, sig unix.Signal)
	close()
}

// family is the processes of one server: those of its session, their descendants, and each that was
// one of these once. A process that leaves the session and whose parent ends before it was seen is
// not found: the plan has that as a gap.
//
// Members are killed, so the worst fault is a member that is none. Only add makes members. What is
// doubtful is no member.
type family struct {
	table  table
	root   int           // the first process, which leads the session
	born   int64         // the time of its start; 0: it was not seen yet
	above  int           // a process that has no other children than members; 0: none
	known  map[int]int64 // the members, with the time of their start
	others map[int]int64 // processes that are no members. They cannot become members
	never  map[int]bool  // this process, and those that it descends from
	unseen int           // how many looks in a row found none in the session
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
	now := make(map[int]process, len(all))
	for _, p := range all {
		now[p.pid] = p
	}
	if f.born == 0 && f.never == nil { // at the first look only: its number may be another process's later
		f.born = now[f.root].start
	}
	f.spare(now)
	forget := func(seen map[int]int64) {
		for pid, start := range seen {
			if p, lives := now[pid]; !lives || p.start != start {
				delete(seen, pid)
			}
		}
	}
	forget(f.known)
	forget(f.others)
	for pid := range f.known {
		if !f.possible(now[pid]) {
			delete(f.known, pid)
		}
	}
	f.adopt(all, now)
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

// spare notes the processes that this one descends from, once.
func (f *family) spare(now map[int]process) {
	if f.never != nil {
		return
	}
	f.never = map[int]bool{}
	for pid := os.Getpid(); pid > 1 && !f.never[pid]; pid = now[pid].parent {
		f.never[pid] = true
	}
}

// adopt adds the new processes of all that belong to the family.
func (f *family) adopt(all []process, now map[int]process) {
	sessions := f.sessions(all)
	if first, lives := now[f.root]; lives && first.start != f.born {
		f.unseen = over // another process has its number
	}
	belongs := func(p process) bool {
		if _, child := f.known[p.parent]; child || f.above > 1 && p.parent == f.above {
			return true
		}
		return f.unseen < over && (p.pid == f.root || sessions[p.pid] == f.root)
	}
	for more := true; more; {
		more = false
		for _, p := range all {
			_, member := f.known[p.pid]
			_, other := f.others[p.pid]
			if member || other || !f.possible(p) || !belongs(p) {
				continue
			}
			f.known[p.pid], more = p.start, true
			f.table.follow(p.pid)
			if f.joined != nil && p.pid != f.root && sessions[p.pid] != f.root {
				f.joined(p)
			}
		}
	}
}

// over is after how many looks that find no process in the session it has ended, for good: its
// number may be another session's then. One look can miss a process while its parent ends.
const over = 2

// sessions returns the sessions of processes that may be members.
func (f *family) sessions(all []process) map[int]int {
	found := map[int]int{}
	if f.born == 0 || f.unseen >= over {
		return found
	}
	f.unseen++
	for _, p := range all {
		if _, other := f.others[p.pid]; other {
			continue
		}
		// A process that has ended by now can have started another one.
		if found[p.pid] = f.table.session(p.pid); found[p.pid] == f.root || found[p.pid] == 0 {
			f.unseen = 0
		}
	}
	return found
}

// possible reports whether a process can be a member at all. Never are the first processes of the
// system, this process and those that it descends from, and one that is older than the first of the
// family. A family whose first process is unknown has no members.
func (f *family) possible(p process) bool {
	return f.root > 1 && f.born > 0 && p.pid > 1 && p.start >= f.born && !f.never[p.pid]
}

const (
	killTime  = 2 * time.Second      // for the end of all members
	killPause = 2 * time.Millisecond // between two rounds
)

// kill ends all members. In each round it stops them first, so that none forks between the look and
// the kill. It returns those that still live after killTime.
func (f *family) kill() (left []int) {
	deadline := time.Now().Add(killTime)
	blind := false
	for empty := 0; empty < 2; time.Sleep(killPause) {
		members, err := f.refresh()
		switch {
		case err != nil:
			empty = 0
			if !blind && f.never != nil { // once only, and after a look: numbers are used again
				f.signal(unix.SIGKILL)
			}
			blind = true
		case len(members) == 0:
			empty++
			continue
		default:
			empty = 0
			f.signal(unix.SIGSTOP)
			if _, err := f.refresh(); err == nil {
				f.signal(unix.SIGSTOP)
			}
			f.signal(unix.SIGKILL)
		}
		if time.Now().After(deadline) {
			return slices.Sorted(maps.Keys(f.known))
		}
	}
	return nil
}

// signal sends a signal to every known member.
func (f *family) signal(sig unix.Signal) {
	for pid := range f.known {
		if pid > 1 && !f.never[pid] { // 0 and below name groups
			f.table.signal(pid, sig)
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
	if left := ended(t, leader, members).kill(); len(left) > 0 {
		return []spec.Event{survivors(left)}
	}
	return nil
}

// ended returns the family of a server whose supervisor has ended.
func ended(t table, leader int, members map[int]int64) *family {
	f := newFamily(t, leader)
	f.born = members[leader]
	maps.Copy(f.known, members)
	return f
}
