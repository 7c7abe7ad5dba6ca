package stub

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestFork checks that tasks are processes of their own.
func TestFork(t *testing.T) {
	r := start(t, nil)
	first := r.First()
	child := first.Child(1)
	pidfd := -1
	pid := testkit.Get(first.Fork(child, unix.CLONE_FS, &pidfd))(t)
	ended(t, pid)
	if got, err := child.Call(unix.SYS_GETPID); err != nil || int(got) != pid || pid == r.pid {
		t.Errorf("%d, %v, want %d, which is not %d", got, err, pid, r.pid)
	}
	dir := t.TempDir()
	testkit.Must(t, Chdir(child, dir))
	if err := Mkdir(first, "made", 0o700); err != nil { // CLONE_FS: they share the working directory
		t.Fatal(err)
	}
	testkit.Works(t, "", testkit.ErrorOf(os.Stat(dir+"/made")))
	// One task waits while another goes on.
	var ws syscall.WaitStatus
	first.BeginAlways()
	first.RepeatUntil(pid)
	Wait4(first, -1, &ws, 0)
	testkit.Must(t, first.Submit())
	testkit.Is(t, "of a task that has ended", testkit.ErrorOf(child.Call(unix.SYS_KILL, uintptr(pid), uintptr(unix.SIGTERM))), errExited)
	if err := first.WaitLong(); err != nil || ws.Signal() != unix.SIGTERM {
		t.Errorf("%v, %v", err, ws)
	}
	testkit.Works(t, "there was no pidfd", Close(first, pidfd))
}

// TestExec checks that a task becomes another program, and stays a task if that fails.
func TestExec(t *testing.T) {
	r := start(t, nil)
	first := r.First()
	child := first.Child(maxTasks - 1)
	pidfd := -1
	pid := testkit.Get(first.Fork(child, 0, &pidfd))(t)
	run := func(path string, argv, env []string) error {
		child.Begin()
		Exec(child, path, argv, env)
		if err := child.Submit(); err != nil {
			return err
		}
		return child.WaitExec()
	}
	var failed *CallError
	if err := run("/nowhere", []string{"x"}, nil); !errors.As(err, &failed) || failed.Errno != unix.ENOENT {
		t.Errorf("%v", err)
	}
	if err := run("/bin/sh", []string{"sh", strings.Repeat("x", lastArenaSize)}, nil); err == nil {
		t.Error("arguments that do not fit were accepted")
	}
	out := t.TempDir() + "/out"
	testkit.Must(t, run("/bin/sh", []string{"sh", "-c", `echo "$1 $V" >"$2"; exit 7`, "sh", "a b", out}, []string{"V=c"}))
	var ws syscall.WaitStatus
	if _, err := Wait4(first, pid, &ws, 0); err != nil || ws.ExitStatus() != 7 {
		t.Errorf("%v, %v", err, ws)
	}
	testkit.Equal(t, "", string(testkit.Get(os.ReadFile(out))(t)), "a b c\n")
}

// TestEvent checks that a batch waits for an event that another sets, and that Wait gives up
// if the other batch failed before.
func TestEvent(t *testing.T) {
	for _, fails := range []bool{false, true} {
		r := start(t, nil)
		first := r.First()
		child := first.Child(1)
		pidfd := -1
		pid := testkit.Get(first.Fork(child, 0, &pidfd))(t)
		ended(t, pid)
		dir, event := t.TempDir(), r.NewEvent()
		child.Begin()
		WaitEvent(child, event)
		Unlinkat(child, unix.AT_FDCWD, dir+"/made", unix.AT_REMOVEDIR)
		testkit.Must(t, child.Submit())
		first.Begin()
		Mkdirat(first, unix.AT_FDCWD, dir+"/made", 0o700)
		if fails {
			Unlinkat(first, unix.AT_FDCWD, dir+"/absent", 0)
		}
		SetEvent(first, event)
		testkit.Must(t, first.Submit())
		testkit.Equal(t, "the other fails: …, and this", (child.Wait() != nil), fails)
		if _, err := os.Stat(dir + "/made"); (err == nil) != fails {
			t.Errorf("the other fails: %t: %v", fails, err)
		}
	}
}

// TestPollUnused: the task sleeps when the last descriptor is hung up and has nothing to read, and only then.
func TestPollUnused(t *testing.T) {
	r := start(t, nil)
	first := r.First()
	pipe := func(text string, closed bool) (read int) {
		t.Helper()
		at := first.arena.alloc(8)
		testkit.Must(t, first.do(unix.SYS_PIPE2, address(at), 0))
		ends := [2]int{int(binary.NativeEndian.Uint32(at)), int(binary.NativeEndian.Uint32(at[4:]))}
		if text != "" {
			if _, err := first.Call(unix.SYS_WRITE, uintptr(ends[1]), first.arena.cString(text), uintptr(len(text))); err != nil {
				t.Fatal(err)
			}
		}
		if closed {
			Close(first, ends[1])
		}
		return ends[0]
	}
	for _, c := range []struct {
		what   string
		text   string
		closed bool
		want   error
	}{
		{"open", "", false, unix.EAGAIN},
		{"readable", "call", false, unix.EAGAIN},
		{"hung up and readable", "call", true, unix.EAGAIN},
		{"hung up", "", true, unix.ETIMEDOUT},
	} {
		other, last := pipe("", false), pipe(c.text, c.closed)
		first.BeginAlways()
		outcome := PollUnused(first, 1, 1, other, last)
		testkit.Must(t, first.Run())
		testkit.Equal(t, c.what, outcome(), c.want)
	}
}
