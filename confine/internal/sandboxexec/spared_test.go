//go:build darwin || linux

package sandboxexec

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The processes of TestSpared: init, its child, the shell and the launcher that this process descends
// from, and two strangers. No real process has these numbers.
const (
	pidDaemon = 1<<22 + iota
	pidShell
	pidLauncher
	pidStranger
	pidSibling
	pidRoot
	pidChild
	pidOrphan
)

// machine returns the processes of a machine and one server's, and their sessions. All are young
// enough to be members.
func machine() *fakeTable {
	t := &fakeTable{sessions: map[int]int{0: 0, 1: 1, pidShell: pidShell, pidLauncher: pidShell, pidStranger: pidStranger, pidRoot: pidRoot, pidChild: pidRoot, pidOrphan: pidOrphan, os.Getpid(): os.Getpid()}}
	t.all = []process{{0, 0, 50}, {1, 0, 50}, {2, 0, 50}, {pidDaemon, 1, 50}, {pidShell, 1, 50}, {pidLauncher, pidShell, 50}, {os.Getpid(), pidLauncher, 50}, {pidSibling, pidLauncher, 50}, {pidStranger, 1, 50}, {pidRoot, os.Getpid(), 50}, {pidChild, pidRoot, 51}}
	return t
}

// TestSpared: a family that gets wrong numbers or times still ends only processes of the server.
func TestSpared(t *testing.T) {
	supervisor := func(t *fakeTable, root int) *family {
		f := newFamily(t, root)
		f.above = os.Getpid()
		return f
	}
	server := []int{pidRoot, pidChild}
	for name, c := range map[string]struct {
		family func(*fakeTable) *family
		want   []int
	}{
		"a server":                  {func(t *fakeTable) *family { return supervisor(t, pidRoot) }, server},
		"root 0":                    {func(t *fakeTable) *family { return newFamily(t, 0) }, nil},
		"root 1":                    {func(t *fakeTable) *family { return newFamily(t, 1) }, nil},
		"root -1":                   {func(t *fakeTable) *family { return newFamily(t, -1) }, nil},
		"root 0 below this process": {func(t *fakeTable) *family { return supervisor(t, 0) }, nil},
		"a root that does not live": {func(t *fakeTable) *family { return newFamily(t, 1<<23) }, nil},
		"a root that ended unseen":  {func(t *fakeTable) *family { return supervisor(t, 1<<23) }, nil},
		"above is 0":                {func(t *fakeTable) *family { f := newFamily(t, pidRoot); f.above = 0; return f }, server},
		"above is 1":                {func(t *fakeTable) *family { f := newFamily(t, pidRoot); f.above = 1; return f }, server},
		"above is -1":               {func(t *fakeTable) *family { f := newFamily(t, pidRoot); f.above = -1; return f }, server},
		"no session is known":       {func(t *fakeTable) *family { clear(t.sessions); return newFamily(t, pidRoot) }, server},
		"session 0, root 0":         {func(t *fakeTable) *family { clear(t.sessions); return newFamily(t, 0) }, nil},
		"all are older":             {func(t *fakeTable) *family { f := supervisor(t, pidRoot); f.born = 99; return f }, nil},
		"a time below 0":            {func(t *fakeTable) *family { f := supervisor(t, pidRoot); f.born = -1; return f }, nil},
		"end: a server":             {func(t *fakeTable) *family { return ended(t, pidRoot, map[int]int64{pidRoot: 50}) }, server},
		"end: no members":           {func(t *fakeTable) *family { return ended(t, pidRoot, nil) }, server},
		"end: unknown leader":       {func(t *fakeTable) *family { return ended(t, 1<<23, map[int]int64{1 << 23: 50}) }, nil},
		"end: leader 0":             {func(t *fakeTable) *family { return ended(t, 0, map[int]int64{0: 50, pidDaemon: 50}) }, nil},
		"end: leader 1":             {func(t *fakeTable) *family { return ended(t, 1, map[int]int64{1: 50, pidDaemon: 50}) }, nil},
		"end: leader -1":            {func(t *fakeTable) *family { return ended(t, -1, map[int]int64{-1: 50}) }, nil},
		"end: the number is reused": {func(t *fakeTable) *family { return ended(t, pidRoot, map[int]int64{pidRoot: 49}) }, nil},
		"end: member 0, 1, self": {func(t *fakeTable) *family {
			return ended(t, pidRoot, map[int]int64{pidRoot: 50, 0: 50, 1: 50, os.Getpid(): 50})
		}, server},
		"end: members above this": {func(t *fakeTable) *family {
			return ended(t, pidRoot, map[int]int64{pidRoot: 50, pidLauncher: 50, pidShell: 50})
		}, server},
		"end: a member's reused number": {func(t *fakeTable) *family { return ended(t, pidRoot, map[int]int64{pidRoot: 50, pidStranger: 51}) }, server},
		"end: an older member":          {func(t *fakeTable) *family { return ended(t, pidRoot, map[int]int64{pidRoot: 51, pidStranger: 50}) }, nil},
		"end: an orphan": {func(t *fakeTable) *family {
			t.all = append(t.all, process{pidOrphan, 1, 52})
			return ended(t, pidRoot, map[int]int64{pidRoot: 50, pidOrphan: 52})
		}, []int{pidRoot, pidChild, pidOrphan}},
	} {
		t.Run(name, func(t *testing.T) {
			table := machine()
			c.family(table).kill()
			if slices.Sort(table.killed); !slices.Equal(table.killed, c.want) {
				t.Errorf("killed %v, want %v", table.killed, c.want)
			}
		})
	}
}

// TestSparedSession: once the session of a server has ended, its number is another session's.
func TestSparedSession(t *testing.T) {
	table := machine()
	f := newFamily(table, pidRoot)
	f.refresh()
	table.all = table.all[:len(table.all)-2]
	f.refresh()
	f.refresh()
	table.all = append(table.all, process{pidOrphan, 1, 60}) // its own first process had pidRoot, and has ended
	table.sessions[pidOrphan] = pidRoot
	if f.kill(); table.killed != nil {
		t.Errorf("killed %v", table.killed)
	}
}

// TestUnseenSession: while processes end, a look may find none of a session that has one.
func TestUnseenSession(t *testing.T) {
	table := machine()
	f := newFamily(table, pidRoot)
	f.refresh()
	table.sessions = map[int]int{}
	f.refresh()
	f.refresh()
	table.all = append(table.all[:len(table.all)-2], process{pidOrphan, 1, 60})
	table.sessions[pidOrphan] = pidRoot
	if f.kill(); !slices.Equal(table.killed, []int{pidOrphan}) {
		t.Errorf("killed %v, want the orphan", table.killed)
	}
}

// TestEndSessionUnknown: without the time of its start, a leader is any process.
func TestEndSessionUnknown(t *testing.T) {
	for _, members := range []map[int]int64{nil, {}, {os.Getppid(): 0}, {1 << 22: 1}} {
		if said := EndSession(os.Getppid(), members); said != nil {
			t.Errorf("%v: %v", members, said)
		}
	}
}

// TestBlind: without a table the members get one signal, as their numbers may be reused then.
func TestBlind(t *testing.T) {
	table := machine()
	f := newFamily(table, pidRoot)
	f.refresh()
	table.broken = errors.New("no table")
	if left := f.kill(); !slices.Equal(left, []int{pidRoot, pidChild}) {
		t.Errorf("left %v", left)
	}
	if slices.Sort(table.killed); !slices.Equal(table.killed, []int{pidRoot, pidChild}) {
		t.Errorf("killed %v", table.killed)
	}
	table.killed = nil
	if left := ended(table, pidRoot, map[int]int64{pidRoot: 50}).kill(); table.killed != nil || !slices.Equal(left, []int{pidRoot}) {
		t.Errorf("without any look: killed %v, left %v", table.killed, left)
	}
	f = &family{table: table, known: map[int]int64{0: 1, 1: 1, -1: 1, -pidRoot: 1, os.Getpid(): 1}, never: map[int]bool{os.Getpid(): true}}
	if f.signal(unix.SIGKILL); table.killed != nil {
		t.Errorf("killed %v", table.killed)
	}
}

// TestSparedRandom: processes start, leave their session, end and get their numbers from those that
// have ended. Nothing ends but descendants of the server's first process, and nothing of its session
// or below a living member is left.
func TestSparedRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	var members int
	for range 300 {
		table := machine()
		table.all = table.all[:len(table.all)-1]
		ours := map[int]bool{pidRoot: true}
		f := newFamily(table, pidRoot)
		if random.IntN(2) == 0 {
			f.above = os.Getpid()
		}
		f.refresh()
		for clock := range int64(200) {
			change(random, table, ours, 60+clock)
			if random.IntN(3) == 0 {
				f.refresh()
			}
			for pid := range f.known {
				if lives := slices.ContainsFunc(table.all, func(p process) bool { return p.pid == pid && p.start == f.known[pid] }); lives && !ours[pid] {
					t.Fatalf("%d is a member: %v", pid, table.all)
				}
			}
		}
		before := fmt.Sprint(table.all)
		f.kill()
		members += len(table.killed)
		for _, pid := range table.killed {
			if !ours[pid] {
				t.Fatalf("%d was killed: %s", pid, before)
			}
		}
		for _, p := range table.all {
			if ours[p.pid] && table.sessions[p.pid] == pidRoot {
				t.Fatalf("%d of the session is left: %s", p.pid, before)
			}
		}
	}
	t.Logf("%d members", members)
}

// change makes one change to a machine of about 20 processes. ours are those that descend from the
// server's first process.
func change(random *rand.Rand, t *fakeTable, ours map[int]bool, clock int64) {
	i := random.IntN(len(t.all))
	p := t.all[i]
	switch {
	case random.IntN(3) > 0: // a fork
		pid := pidChild + random.IntN(20) // that of the first one: see TestSparedSession
		used := slices.ContainsFunc(t.all, func(q process) bool { return q.pid == pid || t.sessions[q.pid] == pid })
		if p.pid <= 2 || p.pid == os.Getpid() || used {
			return // no child of this process but the server; and no number of a session
		}
		t.all = append(t.all, process{pid, p.pid, clock})
		t.sessions[pid] = t.sessions[p.pid]
		ours[pid] = ours[p.pid]
	case random.IntN(3) == 0:
		if p.pid != os.Getpid() {
			t.sessions[p.pid] = p.pid
		}
	case p.pid >= pidStranger:
		t.all = slices.Delete(t.all, i, i+1)
		delete(t.sessions, p.pid)
		for j := range t.all {
			if t.all[j].parent == p.pid {
				t.all[j].parent = 1
			}
		}
	}
}
