package confine

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fakeProc is a /proc with the processes that the test wants: their resident and
// their proportional memory in MB, by number.
type fakeProc struct {
	t   *testing.T
	dir string
}

func (f fakeProc) set(pid string, rss, pss int) {
	f.t.Helper()
	write := func(name, format string, mb int) {
		if err := os.WriteFile(filepath.Join(f.dir, pid, name), fmt.Appendf(nil, format, mb<<10), 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
	os.Mkdir(filepath.Join(f.dir, pid), 0o700)
	write("status", "VmRSS: %d kB\nThreads: 1\n", rss)
	write("smaps_rollup", "Pss: %d kB\n", pss)
}

func (f fakeProc) gone(pid string) { os.RemoveAll(filepath.Join(f.dir, pid)) }

// chosen is what a sample ends, in its order.
func chosen(t *testing.T, w *memoryWatch) string {
	t.Helper()
	end, err := w.sample()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(numbersOf(end), " ")
}

func watchOver(t *testing.T, limitMB int64) (*memoryWatch, fakeProc) {
	f := fakeProc{t, t.TempDir()}
	os.WriteFile(filepath.Join(f.dir, "meminfo"), nil, 0o600) // no shared memory on this host
	return &memoryWatch{proc: f.dir, limit: limitMB << 20, members: othersIn(f.dir)}, f
}

// TestExcessChoosesEnough: as many as needed and no more, largest first, by what they
// have for themselves.
func TestExcessChoosesEnough(t *testing.T) {
	for _, c := range []struct {
		name     string
		rss, pss []int // of processes 2, 3, …
		want     string
	}{
		{"below", []int{30, 60}, []int{30, 60}, ""},
		{"shared, so below", []int{60, 60, 60}, []int{20, 20, 20}, ""},
		{"one child", []int{30, 200, 20}, []int{30, 200, 20}, "3"},
		{"two of four", []int{10, 60, 50, 70}, []int{10, 60, 50, 70}, "5 3"},
		{"many", []int{5, 40, 40, 40, 40}, []int{5, 40, 40, 40, 40}, "3 4"},
		{"not the one that only shares", []int{99, 30, 90}, []int{15, 30, 89}, "4"},
	} {
		w, f := watchOver(t, 100)
		for i := range c.rss {
			f.set(fmt.Sprint(i+2), c.rss[i], c.pss[i])
		}
		got := chosen(t, w)
		if c.name == "many" { // equals, in any order
			got = fmt.Sprint(len(strings.Fields(got)))
			c.want = "2"
		}
		if got != c.want {
			t.Errorf("%s: ended %q, want %q", c.name, got, c.want)
		}
	}
}

// TestExcessWaitsForTheEnd: who was ended and is still there is not a reason to end
// somebody else, or the jail.
func TestExcessWaitsForTheEnd(t *testing.T) {
	w, f := watchOver(t, 100)
	f.set("2", 60, 60)
	f.set("3", 150, 150)
	if got := chosen(t, w); got != "3" {
		t.Fatalf("ended %q", got)
	}
	for range 3 * mostStrain {
		if got := chosen(t, w); got != "" || w.excess.lost() {
			t.Fatalf("ended %q too, lost: %t", got, w.excess.lost())
		}
	}
	if again := numbersOf(w.excess.again); len(again) != 1 || again[0] != "3" {
		t.Errorf("it may be another one with its number: %q", again)
	}
	f.gone("3")
	for range mostStrain {
		chosen(t, w)
	}
	if len(w.excess.ended) != 0 || w.excess.strain != 0 {
		t.Errorf("not forgotten: %+v", w.excess)
	}
}

// TestExcessSparesSuccessors: who has the number of one that was ended is not ended for
// that, while the jail is below its limit.
func TestExcessSparesSuccessors(t *testing.T) {
	w, f := watchOver(t, 100)
	f.set("2", 10, 10)
	for _, c := range []struct {
		mb         int
		end, again string
	}{{150, "3", ""}, {150, "", "3"}, {20, "", ""}, {90, "", ""}, {150, "", "3"}} {
		f.set("3", c.mb, c.mb)
		end := chosen(t, w)
		if again := strings.Join(numbersOf(w.excess.again), " "); end != c.end || again != c.again {
			t.Errorf("with %d MB: ended %q and again %q, want %q and %q", c.mb, end, again, c.end, c.again)
		}
	}
}

// TestEndsOnlyItsOwn: without a PID namespace a number may be somebody else's by the time
// that its process is to be ended.
func TestEndsOnlyItsOwn(t *testing.T) {
	mine := exec.Command("sleep", "1000")
	if err := mine.Start(); err != nil {
		t.Fatal(err)
	}
	// What a shell leaves behind falls to the host's init.
	var pipes [4]*os.File
	for i := range 2 {
		var err error
		if pipes[2*i], pipes[2*i+1], err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
	}
	hears, says := pipes[2], pipes[1]
	defer hears.Close()
	defer says.Close()
	shell := exec.Command("setsid", "sh", "-c", "cat <&3 >&4 2>/dev/null & echo $!")
	shell.ExtraFiles = []*os.File{pipes[0], pipes[3]}
	other, err := shell.Output()
	pipes[0].Close()
	pipes[3].Close()
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(string(other))
	if all, err := descendants(); err != nil || slices.Contains(all, pid) || !slices.Contains(all, strconv.Itoa(mine.Process.Pid)) {
		t.Fatalf("%v, %v: not what this test needs", all, err)
	}
	answers := func() bool {
		says.Write([]byte("x"))
		n, _ := hears.Read(make([]byte, 1))
		return n == 1
	}
	if !answers() {
		t.Fatal("the stranger is not there")
	}
	(&shim{builder: builder{bare: true}}).killMembers([]member{{pid: pid}, {pid: strconv.Itoa(mine.Process.Pid)}, {pid: "none"}})
	if err := mine.Wait(); err == nil || mine.ProcessState.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		t.Errorf("its own: %v", err)
	}
	if !answers() {
		t.Fatal("a stranger was ended")
	}
	// The control: it could have been.
	(&shim{}).killMembers([]member{{pid: pid}})
	if answers() {
		t.Error("nobody is ended")
	}
}

// TestLimitReached: what goes on is one denial, and each process that was ended its own.
func TestLimitReached(t *testing.T) {
	var all []Denial
	for _, m := range []struct {
		key, what string
		value     int
		pid       int
	}{
		{keyMemory, "memory", 64, 0}, {keyMemory, "memory", 64, 0}, {keyMemory, "space in /tmp", 64, 0}, {keyMemory, "memory", 128, 0},
		{keyMemory, "memory", 64, 7}, {keyMemory, "memory", 64, 7}, {keyProcesses, "processes", 64, 0}, {keyMemory, "memory", 64, 0},
	} {
		all = limitReached(all, m.key, m.what, m.value, m.pid, "")
	}
	var got []string
	for _, d := range all {
		got = append(got, fmt.Sprint(d.Operation, ", ", d.Target, ", ", d.PID, ", ", d.Count))
	}
	want := []string{
		"memory, memory_mb = 64, 0, 3", "space in /tmp, memory_mb = 64, 0, 1", "memory, memory_mb = 128, 0, 1",
		"memory, memory_mb = 64, 7, 1", "memory, memory_mb = 64, 7, 1", "processes, processes = 64, 0, 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if first, last := all[0].Time, all[len(all)-1].Time; first.Before(last) {
		t.Errorf("the time of what goes on, %v, is not that of the latest, after %v", first, last)
	}
}

// TestExcessIsLost: new processes each time end the jail; those of an honest server
// that tries again now and then do not.
func TestExcessIsLost(t *testing.T) {
	for calm, want := range []bool{true, true, false} { // samples below the limit after each one above
		w, f := watchOver(t, 100)
		f.set("2", 10, 10)
		lost := false
		for n := range 100 {
			pid := fmt.Sprint(100 + n)
			f.set(pid, 150, 150)
			if got := chosen(t, w); got != pid && !lost {
				t.Fatalf("ended %q, want %s", got, pid)
			}
			f.gone(pid)
			for range calm {
				chosen(t, w)
			}
			lost = lost || w.excess.lost()
		}
		if lost != want {
			t.Errorf("%d samples below the limit after each above: lost %t", calm, lost)
		}
	}
}

// TestExcessGoesFurther: what was not enough is followed by more.
func TestExcessGoesFurther(t *testing.T) {
	w, f := watchOver(t, 100)
	next, before := 10, 0
	for !w.excess.lost() {
		for range 20 {
			f.set(fmt.Sprint(next), 10, 10)
			next++
		}
		n := len(strings.Fields(chosen(t, w)))
		if n <= before {
			t.Fatalf("ended %d after %d", n, before)
		}
		before = n
		for pid := range w.excess.ended {
			f.gone(pid)
		}
		for pid := 10; pid < next; pid++ { // and the rest goes by itself
			f.gone(fmt.Sprint(pid))
		}
	}
}

// TestMemoryWatchFindsSuccessors: who takes the place of one that has ended before the
// sample came to it is counted as well.
func TestMemoryWatchFindsSuccessors(t *testing.T) {
	w, f := watchOver(t, 100)
	f.set("3", 150, 150)
	lists := [][]string{{"2"}, {"3"}}
	w.members = func() ([]string, error) {
		pids := lists[0]
		lists = lists[min(1, len(lists)-1):]
		return pids, nil
	}
	if got := chosen(t, w); got != "3" {
		t.Errorf("ended %q", got)
	}
}

// TestEndedHoldsNothing: the memfds of a process that was ended do not count until
// the next look at all open files, unless another one has them too.
func TestEndedHoldsNothing(t *testing.T) {
	found := &memfdSearch{by: map[string]map[uint64]bool{"7": {1: true, 2: true}, "8": {2: true}}, size: map[uint64]int64{1: 100, 2: 50}}
	u := unmapped{found: found, last: 150, held: map[string]int64{"7": 150, "8": 50}, next: time.Now().Add(time.Hour)}
	u.ended("9")
	if u.last != 150 {
		t.Errorf("a process without any took %d away", 150-u.last)
	}
	u.ended("7")
	u.ended("7")
	if u.last != 50 || u.held["7"] != 0 || !u.next.IsZero() {
		t.Errorf("%+v", u)
	}
}

// TestUnsaid: where nobody hears, nobody waits, and it is said later.
func TestUnsaid(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	size, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	s := &shim{status: w}
	s.say = s.tell
	var late unsaid
	for range 2 * mostUnsaid {
		late.say(s, message{kind: saysLimit, step: keyMemory})
	}
	if len(late) != mostUnsaid {
		t.Errorf("%d wait", len(late))
	}
	if _, err := io.ReadFull(r, make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	late.tell(s)
	b := make([]byte, size)
	n, err := r.Read(b)
	if err != nil || len(late) != 0 {
		t.Fatalf("%d wait: %v", len(late), err)
	}
	said := 0
	for rest := b[:n]; len(rest) > 0; said++ {
		if _, rest, err = nextMessage(rest); err != nil {
			t.Fatal(err)
		}
	}
	if said != mostUnsaid {
		t.Errorf("%d were said", said)
	}
}
