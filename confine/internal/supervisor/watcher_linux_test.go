package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	procpkg "github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// fakeProc is a proc filesystem with the processes that a test wants.
type fakeProc struct {
	t   *testing.T
	dir string
}

func (f fakeProc) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// set adds a process with its resident and its proportional memory, in MB.
func (f fakeProc) set(pid string, rss, pss int) {
	f.t.Helper()
	os.Mkdir(filepath.Join(f.dir, pid), 0o700)
	f.write(pid+"/status", fmt.Sprintf("VmRSS: %d kB\nThreads: 1\n", rss<<10))
	f.write(pid+"/smaps_rollup", fmt.Sprintf("Pss: %d kB\n", pss<<10))
}

// watch returns a watcher over a fakeProc without processes.
func watch(t *testing.T, limitMB int64) (*oomWatcher, fakeProc) {
	f := fakeProc{t, t.TempDir()}
	f.write("meminfo", "") // the host has no shared memory
	return &oomWatcher{Proc: f.dir, Limit: limitMB << 20, List: procpkg.JailProcesses(f.dir)}, f
}

// TestSample checks that memory which processes share counts once, and that the largest
// process is found.
func TestSample(t *testing.T) {
	for _, c := range []struct {
		name     string
		rss, pss []int  // of processes 4, 5, …, in MB; the limit is 100
		largest  string // "": not over the limit
	}{
		{"below", []int{30, 60}, []int{30, 60}, ""},
		{"at the limit", []int{40, 60}, []int{40, 60}, ""},
		{"shared, so below", []int{60, 60, 60}, []int{20, 20, 20}, ""},
		{"one child", []int{30, 200, 20}, []int{30, 200, 20}, "5"},
		{"together", []int{10, 60, 50}, []int{10, 60, 50}, "5"},
		{"the one that only shares is not the largest", []int{99, 30, 90}, []int{15, 30, 89}, "6"},
	} {
		w, f := watch(t, 100)
		for i := range c.rss {
			f.set(fmt.Sprint(i+4), c.rss[i], c.pss[i])
		}
		over, largest, err := w.Sample()
		if err != nil || over != (c.largest != "") || over && largest != c.largest {
			t.Errorf("%s: over %v, largest %q, %v", c.name, over, largest, err)
		}
	}
}

// TestSampleSuccessors checks that a process is counted that takes the place of one which
// ended during the sample.
func TestSampleSuccessors(t *testing.T) {
	w, f := watch(t, 100)
	f.set("3", 150, 150)
	lists := [][]string{{"2"}, {"3"}}
	w.List = func() ([]string, error) {
		pids := lists[0]
		lists = lists[min(1, len(lists)-1):]
		return pids, nil
	}
	if over, largest, err := w.Sample(); !over || largest != "3" || err != nil {
		t.Errorf("over %v, largest %q, %v", over, largest, err)
	}
}

// TestSampleError checks that a proc filesystem that cannot be read is an error, and not a
// jail that uses nothing.
func TestSampleError(t *testing.T) {
	w := oomWatcher{Proc: "/proc", Limit: 1 << 62, List: procpkg.JailProcesses("/proc")}
	if _, _, err := w.Sample(); err != nil || w.used == 0 || w.Threads == 0 {
		t.Errorf("the control: %d bytes, %d threads, %v", w.used, w.Threads, err)
	}
	w.List = procpkg.JailProcesses(t.TempDir() + "/missing")
	if over, _, err := w.Sample(); err == nil || over {
		t.Errorf("nothing to read: over %v, error %v", over, err)
	}
}

// TestSwapAndPageTables checks that swap and page tables count, cheaply and exactly.
func TestSwapAndPageTables(t *testing.T) {
	const kb = 1 << 10
	w, f := watch(t, 1<<20)
	f.set("3", 0, 0)
	f.write("3/status", "VmRSS:\t100 kB\nVmSwap:\t20 kB\nVmPTE:\t3 kB\nThreads:\t1\n")
	f.write("3/smaps_rollup", "Pss:\t50 kB\nSwapPss:\t10 kB\n")
	cheap := w.resident("3")
	if exact := w.proportional("3", cheap); cheap.total != 123*kb || exact.total != 63*kb {
		t.Errorf("%d and %d kB, want 123 and 63", cheap.total/kb, exact.total/kb)
	}
	testkit.Must(t, os.Remove(w.Proc+"/3/smaps_rollup"))
	if hidden := w.proportional("3", cheap); hidden.total != cheap.total {
		t.Errorf("a process that hides its exact count has %d kB, want 123", hidden.total/kb)
	}
}

// TestLargePageTables checks that no process makes a sample walk large page tables: it counts in
// full, though it shares its memory.
func TestLargePageTables(t *testing.T) {
	for _, c := range []struct {
		tables int // of two processes, in MB; the limit is 100
		over   bool
	}{{7, false}, {9, true}, {40, true}} {
		w, f := watch(t, 100)
		for _, pid := range []string{"4", "5"} {
			f.set(pid, 75, 10)
			f.write(pid+"/status", fmt.Sprintf("VmRSS: %d kB\nVmPTE: %d kB\nThreads: 1\n", 75<<10, c.tables<<10))
		}
		if over, _, err := w.Sample(); over != c.over || err != nil {
			t.Errorf("page tables of %d MB: %v, %v", c.tables, over, err)
		}
	}
}

// TestTmpfsUsage checks that empty files count. A child does it on a tmpfs of its own.
func TestTmpfsUsage(t *testing.T) {
	const variable = "MCPJAIL_TEST_TMPFS"
	dir := os.Getenv(variable)
	if dir == "" {
		c := testkit.Self(os.Args[0], "-test.run=^TestTmpfsUsage$", "-test.v")
		c.Env = append(os.Environ(), variable+"="+t.TempDir())
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
		if os.Getuid() != 0 {
			c.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
			c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
			c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}} // a tmpfs creates no file for an unmapped group
		}
		out, err := c.CombinedOutput()
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
			testkit.Skip(t, "userns", "%v", err)
		}
		if err != nil || !strings.Contains(string(out), "--- PASS: TestTmpfsUsage") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	testkit.Must(t, errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("none", dir, "tmpfs", 0, "")))
	w := oomWatcher{Tmpfs: []string{dir}}
	before := w.tmpfsUsage()
	const n = 1000
	for i := range n {
		testkit.Must(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o600))
	}
	if more := w.tmpfsUsage() - before; more < n*inodeSize {
		t.Errorf("%d files are %d bytes", n, more)
	}
}

// TestSystemV checks that messages and segments of System V count where they are the jail's own. Messages
// without text take memory too, and so does a queue without messages.
func TestSystemV(t *testing.T) {
	const segment = "0 0 600 %d 1 1 0 0 0 0 0 0 0 0 %[1]d 0\n"
	const queue = "0 0 600 %d %d 1 1 0 0 0 0 0 0 0\n"
	const mb = 1 << 20
	for _, c := range []struct {
		name     string
		shm, msg string
		own      bool // over the limit, if they are the jail's own
	}{
		{name: "nothing"},
		{name: "segments", shm: fmt.Sprintf(segment, 150*mb), own: true},
		{name: "messages", msg: strings.Repeat(fmt.Sprintf(queue, 16384, 2), 4000), own: true},
		{name: "messages without text", msg: strings.Repeat(fmt.Sprintf(queue, 0, 16384), 100), own: true},
		{name: "few messages", msg: strings.Repeat(fmt.Sprintf(queue, 100, 2), 1000)},
		{name: "many queues", msg: strings.Repeat(fmt.Sprintf(queue, 0, 0), 4096), own: true},
	} {
		for _, own := range []bool{true, false} {
			w, f := watch(t, 100)
			w.OwnIPC, w.Shared = own, 1
			f.write("meminfo", "Shmem: 200000 kB\n")
			testkit.Must(t, os.Mkdir(filepath.Join(f.dir, "sysvipc"), 0o700))
			f.write("sysvipc/shm", "key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap\n"+c.shm)
			f.write("sysvipc/msg", "key msqid perms cbytes qnum lspid lrpid uid gid cuid cgid stime rtime ctime\n"+c.msg)
			f.set("4", 10, 10)
			if over, _, err := w.Sample(); over != (c.own && own) || err != nil {
				t.Errorf("%s, of the jail's own %v: over %v, %v", c.name, own, over, err)
			}
		}
	}
}

// TestPause checks that the pause follows what is left and how fast the use grows.
func TestPause(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		limit, used int64
		rate        float64
		took        time.Duration
		least, most time.Duration
	}{
		{4096 * mb, 50 * mb, 0, 0, 900 * time.Millisecond, time.Second},
		{4096 * mb, 2048 * mb, 0, 0, 400 * time.Millisecond, 600 * time.Millisecond},
		{4096 * mb, 2048 * mb, 20 << 30, 0, 20 * time.Millisecond, 60 * time.Millisecond},
		{4096 * mb, 4090 * mb, 0, 0, shortPause, shortPause},
		{4096 * mb, 5000 * mb, 0, 0, shortPause, shortPause},
		{64 * mb, 10 * mb, 0, 0, shortPause, 20 * time.Millisecond},
		{64 * mb, 60 * mb, 0, 20 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond},
		{4096 * mb, 2048 * mb, 0, 6 * time.Second, 900 * time.Millisecond, time.Second},
	} {
		w := oomWatcher{Limit: c.limit, used: c.used, rate: c.rate, Took: c.took}
		if d := w.pause(); d < c.least || d > c.most {
			t.Errorf("%+v: %v", c, d)
		}
	}
}
