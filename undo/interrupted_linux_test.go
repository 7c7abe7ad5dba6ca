package undo

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// runUndo is the argv[0] that makes the test binary undo the session in the directory argv[1].
const runUndo = "mcp-jail-test-undo"

func TestMain(m *testing.M) {
	testkit.Programs{runUndo: func() {
		s, err := readSession(os.Args[1])
		if err == nil {
			var r *Restorer
			call := 0
			if len(os.Args) > 2 {
				call, _ = strconv.Atoi(os.Args[2])
			}
			if r, err = NewRestorer(s, Selection{Call: call}); err == nil {
				_, _, err = r.Run(Store{Dir: filepath.Dir(os.Args[1])})
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}}.Dispatch()
	os.Exit(m.Run())
}

// TestUndoInterrupted tests that an undo finishes what another one began that was killed before its
// first change, before its second, and so on.
func TestUndoInterrupted(t *testing.T) {
	scenarios := map[string]func(w *world){
		"attributes": func(w *world) {
			w.remove("d0/f0")
			w.write("d0/f0", "file 0 of d0", 0) // the same content again, as a checkout leaves it
			w.chmod("d0/f0", 0o755)
			w.check(w.rename("d1/f0", "d1/g", 0))
			w.chmod("d1/g", 0o755)
			w.times("d1/g")
			w.write("d1/f2", "", os.O_APPEND) // its content is kept, and stays the same
			w.check(w.rename("d1/f2", "d1/h", 0))
			w.chmod("d1/h", 0o640)
			w.write("d1/f3", "", os.O_APPEND)
			w.check(w.rename("d1/f3", "d1/i", 0))
			w.chmod("d1/i", 0)
			w.check(w.rename("d3", "e", 0))
			w.chmod("e/sub/hard", 0o600)
			w.times("e/sub/hard")
			w.write("d2/f0", "x", os.O_TRUNC)
			w.chmod("d2/f0", 0)
			w.chmod("d2", 0o500)
		},
		"directories and files": func(w *world) {
			w.check(w.rename("d0/sub", "away", 0))
			w.write("d0/sub", "a file now", 0)
			w.remove("d1/f0")
			w.mkdir("d1/f0")
			w.write("d1/f0/x", "y", 0)
			w.remove("d2/link")
			w.mkdir("d2/link")
		},
		"a file where a directory was": func(w *world) {
			w.check(w.rename("d0/f0", "t", 0))
			w.check(w.rename("d0/sub", "d0/f0", 0))
			w.check(w.rename("t", "d0/sub", 0))
			w.check(w.rename("d1/f0", "d1/sub", unix.RENAME_EXCHANGE))
			w.check(w.rename("d2/sub/deep", "t", 0)) // a file for its own directory
			w.remove("d2/sub/hard")
			w.rmdir("d2/sub")
			w.check(w.rename("t", "d2/sub", 0))
			w.check(w.rename("d3/sub/hard", "t", 0)) // it has another name, which moves too
			w.check(w.rename("d3", "e", 0))
			w.check(w.rename("t", "d3", 0))
		},
		"names of one file": func(w *world) {
			w.write("d0/f1", "x", os.O_TRUNC) // also sub/hard
			w.chmod("d0/f1", 0)
			w.write("d1/f1", "x", os.O_TRUNC)
			w.check(w.rename("d1/sub", "away", 0))
			w.check(w.rename("d2/f1", "n1", 0))
			w.check(w.rename("d2/sub/hard", "n2", 0))
			w.check(w.rename("d2/f2", "d2/f1", 0))
			w.check(w.rename("d3/sub/hard", "d3/moved", 0))
			w.write("d3/moved", "x", os.O_TRUNC) // also d3/f1
		},
	}
	if testkit.Long() {
		for _, seed := range []uint64{6, 8, 18} { // of 40, those that found faults
			scenarios[fmt.Sprint("seed ", seed)] = func(w *world) {
				w.random = rand.New(rand.NewPCG(seed, 9))
				for range 20 + w.random.IntN(40) {
					w.randomOperation()
				}
			}
		}
	}
	for name, change := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := testkit.Rounds(9, 1) // four faults put in on purpose are found in the first nineteen changes
			for n := 1; interrupt(t, n, change) && !t.Failed(); n += step {
			}
		})
	}
}

// interrupt undoes a session, kills the undo before its nth change, and undoes the session again.
// It returns false if the first undo ended before that.
func interrupt(t *testing.T, n int, change func(*world)) bool {
	w := filled(t)
	before := w.tree()
	w.begin()
	change(w)
	if before == w.tree() { // before the end: an ordinary user changes a mode to read it, which moves the time
		t.Fatal("nothing was changed")
	}
	w.end()
	killed := killBefore(t, n, testkit.Self(runUndo, filepath.Join(w.store.Dir, w.session().ID)))
	if !killed && n == 1 {
		t.Fatal("the undo made no change")
	}
	r, err := NewRestorer(w.session(), Selection{})
	w.check(err)
	for _, s := range Refused(r.Steps) {
		t.Errorf("killed before change %d: refused: %s: %s", n, s.Path, s.Why)
	}
	out, _, err := r.Run(w.store)
	w.check(err)
	for _, o := range out {
		if o.Err != nil {
			t.Errorf("killed before change %d: %s %s: %v", n, o.Action, o.Path, o.Err)
		}
	}
	w.same(fmt.Sprintf("killed before change %d, then undone", n), before)
	return killed
}

// changing has the system calls by which undo changes files of the user.
var changing = map[uint64]bool{
	unix.SYS_FCHMOD: true, unix.SYS_FCHMODAT: true, unix.SYS_FCHOWN: true, unix.SYS_FCHOWNAT: true, unix.SYS_UTIMENSAT: true,
	unix.SYS_RENAMEAT: true, unix.SYS_RENAMEAT2: true, unix.SYS_LINKAT: true, unix.SYS_UNLINKAT: true, unix.SYS_MKDIRAT: true, unix.SYS_SYMLINKAT: true,
}

// killBefore runs a program and kills it when it enters its nth changing call. It returns false if
// the program ended before that.
func killBefore(t testing.TB, n int, cmd *exec.Cmd) bool {
	runtime.LockOSThread() // ptrace(2) serves one thread
	defer runtime.UnlockOSThread()
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	testkit.Must(t, cmd.Start())
	child := cmd.Process.Pid
	defer cmd.Process.Release()
	var status unix.WaitStatus
	if _, err := unix.Wait4(child, &status, unix.WALL, nil); err != nil { // its execve
		t.Fatal(err)
	}
	testkit.Must(t, unix.PtraceSetOptions(child, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL))
	killed := false
	for thread, signal := child, 0; ; {
		unix.PtraceSyscall(thread, signal) // it fails if the thread was killed meanwhile
		var err error
		if thread, err = unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil); err != nil { // no child of another test
			t.Fatal(err)
		}
		signal = 0
		switch {
		case thread == child && (status.Exited() || status.Signaled()):
			if !killed && status.ExitStatus() != 0 {
				t.Fatalf("the undo ended with %v", status)
			}
			return killed
		case status.Exited() || status.Signaled():
		case status.StopSignal() == unix.SIGTRAP|0x80:
			if entersChange(thread) {
				n--
			}
			if n == 0 && !killed {
				killed = true
				unix.Kill(child, unix.SIGKILL)
			}
		case status.StopSignal() != unix.SIGTRAP && status.StopSignal() != unix.SIGSTOP:
			signal = int(status.StopSignal())
		}
	}
}

// entersChange reports whether a thread has stopped at the entry of a changing call.
func entersChange(thread int) bool {
	var info struct { // struct ptrace_syscall_info, as ptrace(2) has it
		op   uint8
		_    [3]uint8
		_    uint32
		_, _ uint64
		call uint64
		_    [6]uint64
	}
	const getSyscallInfo, entry = 0x420e, 1
	_, _, err := unix.RawSyscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(thread), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	return err == 0 && info.op == entry && changing[info.call]
}
