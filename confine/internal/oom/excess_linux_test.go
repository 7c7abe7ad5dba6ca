package oom

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
)

// fakeProc is a /proc with the processes that the test wants: their resident and
// their proportional memory in MB, by number.
type fakeProc struct {
	t   *testing.T
	Dir string
}

func (f fakeProc) Set(pid string, rss, pss int) {
	f.t.Helper()
	write := func(name, format string, mb int) {
		if err := os.WriteFile(filepath.Join(f.Dir, pid, name), fmt.Appendf(nil, format, mb<<10), 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
	os.Mkdir(filepath.Join(f.Dir, pid), 0o700)
	write("status", "VmRSS: %d kB\nThreads: 1\n", rss)
	write("smaps_rollup", "Pss: %d kB\n", pss)
}

func (f fakeProc) gone(pid string) { os.RemoveAll(filepath.Join(f.Dir, pid)) }

// chosen is what a sample ends, in its order.
func chosen(t *testing.T, w *MemoryWatch) string {
	t.Helper()
	end, err := w.Sample()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(numbersOf(end), " ")
}

func WatchOver(t *testing.T, limitMB int64) (*MemoryWatch, fakeProc) {
	f := fakeProc{t, t.TempDir()}
	os.WriteFile(filepath.Join(f.Dir, "meminfo"), nil, 0o600) // no shared memory on this host
	return &MemoryWatch{Proc: f.Dir, Limit: limitMB << 20, Members: proc.JailProcesses(f.Dir)}, f
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
		w, f := WatchOver(t, 100)
		for i := range c.rss {
			f.Set(fmt.Sprint(i+2), c.rss[i], c.pss[i])
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
	w, f := WatchOver(t, 100)
	f.Set("2", 60, 60)
	f.Set("3", 150, 150)
	if got := chosen(t, w); got != "3" {
		t.Fatalf("ended %q", got)
	}
	for range 3 * mostStrain {
		if got := chosen(t, w); got != "" || w.Excess.Lost() {
			t.Fatalf("ended %q too, lost: %t", got, w.Excess.Lost())
		}
	}
	if again := numbersOf(w.Excess.Again); len(again) != 1 || again[0] != "3" {
		t.Errorf("it may be another one with its number: %q", again)
	}
	f.gone("3")
	for range mostStrain {
		chosen(t, w)
	}
	if len(w.Excess.ended) != 0 || w.Excess.strain != 0 {
		t.Errorf("not forgotten: %+v", w.Excess)
	}
}

// TestExcessSparesSuccessors: who has the number of one that was ended is not ended for
// that, while the jail is below its limit.
func TestExcessSparesSuccessors(t *testing.T) {
	w, f := WatchOver(t, 100)
	f.Set("2", 10, 10)
	for _, c := range []struct {
		mb         int
		end, again string
	}{{150, "3", ""}, {150, "", "3"}, {20, "", ""}, {90, "", ""}, {150, "", "3"}} {
		f.Set("3", c.mb, c.mb)
		end := chosen(t, w)
		if again := strings.Join(numbersOf(w.Excess.Again), " "); end != c.end || again != c.again {
			t.Errorf("with %d MB: ended %q and again %q, want %q and %q", c.mb, end, again, c.end, c.again)
		}
	}
}

// TestExcessIsLost: new processes each time end the jail; those of an honest server
// that tries again now and then do not.
func TestExcessIsLost(t *testing.T) {
	for calm, want := range []bool{true, true, false} { // samples below the limit after each one above
		w, f := WatchOver(t, 100)
		f.Set("2", 10, 10)
		lost := false
		for n := range 100 {
			pid := fmt.Sprint(100 + n)
			f.Set(pid, 150, 150)
			if got := chosen(t, w); got != pid && !lost {
				t.Fatalf("ended %q, want %s", got, pid)
			}
			f.gone(pid)
			for range calm {
				chosen(t, w)
			}
			lost = lost || w.Excess.Lost()
		}
		if lost != want {
			t.Errorf("%d samples below the limit after each above: lost %t", calm, lost)
		}
	}
}

// TestExcessGoesFurther: what was not enough is followed by more.
func TestExcessGoesFurther(t *testing.T) {
	w, f := WatchOver(t, 100)
	next, before := 10, 0
	for !w.Excess.Lost() {
		for range 20 {
			f.Set(fmt.Sprint(next), 10, 10)
			next++
		}
		n := len(strings.Fields(chosen(t, w)))
		if n <= before {
			t.Fatalf("ended %d after %d", n, before)
		}
		before = n
		for pid := range w.Excess.ended {
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
	w, f := WatchOver(t, 100)
	f.Set("3", 150, 150)
	lists := [][]string{{"2"}, {"3"}}
	w.Members = func() ([]string, error) {
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
