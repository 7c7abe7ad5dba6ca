package sandboxexec

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

const firstThreadEnds = "mcp-jail: its first thread ends" // the first argument of such a process

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == firstThreadEnds {
		endFirstThread()
	}
	os.Exit(m.Run())
}

// endFirstThread ends this thread, which must be the first one. Another one lives until stdin ends.
func endFirstThread() {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		os.Exit(1)
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
}

// TestProcessWithoutItsFirstThread: a process lives as long as one of its threads. So it is, too, while a
// thread that is not the first executes a program.
func TestProcessWithoutItsFirstThread(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", firstThreadEnds)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	for state := byte(0); state != 'Z'; runtime.Gosched() {
		stat := statFields(pid)
		if stat == nil {
			t.Fatal("the process has ended")
		}
		state = stat[0][0]
	}
	listed := func() bool {
		t.Helper()
		all, err := procTable{}.processes()
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(all, func(p process) bool { return p.pid == pid })
	}
	if !listed() {
		t.Error("a process whose first thread has ended is not listed")
	}
	in.Close()
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if listed() {
		t.Error("the control: a process that has ended is listed")
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
