package stub

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestList: results are arguments of later calls, also another task's, and what is filled
// in is there afterwards.
func TestList(t *testing.T) {
	r := start(t, nil)
	first := r.First()
	child := first.Child(1)
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	pidfd, pid := -1, 0
	text := make([]byte, 4)
	var st unix.Statx_t

	first.Begin()
	d, err := first.Openat(unix.AT_FDCWD, dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil || d < futureBase || !first.Recording() {
		t.Fatalf("%#x, %v", d, err)
	}
	fd, _ := first.Openat(d, "file", unix.O_RDWR, 0)
	first.Mkdirat(d, "made", 0o700)
	first.Mkdirat(d, "made", 0o700) // which is there
	first.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_SIZE, &st)
	size := uint64(0)
	first.OnComplete(func() error { size = st.Size; return nil })
	pid, _ = first.Fork(child, unix.CLONE_FILES, &pidfd)
	absent := first.Optional(func() error { _, err := first.Openat(d, "absent", unix.O_RDONLY, 0); return err })

	child.Begin()
	child.Read(fd, text)
	if err := child.Submit(); err == nil {
		t.Error("a list starts with the result of one that has not come to its end")
	}
	if err := first.Run(); err != nil {
		t.Fatal(err)
	}
	ended(t, first.Resolve(pid))
	child.Begin()
	child.Read(fd, text)
	if err := child.Run(); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if size != 4 || pidfd < 0 || first.Resolve(pid) <= 0 || absent() != unix.ENOENT {
		t.Errorf("%d bytes, descriptor %d, process %d, %v", size, pidfd, first.Resolve(pid), absent())
	}
}

// TestListFails: a list ends with the first call that fails, and nothing is made of it.
func TestListFails(t *testing.T) {
	r := start(t, nil)
	task := r.First()
	dir := t.TempDir()
	seen := false
	task.Begin()
	task.Mkdirat(unix.AT_FDCWD, dir+"/before", 0o700)
	task.Unlinkat(unix.AT_FDCWD, dir+"/absent", 0)
	task.Mkdirat(unix.AT_FDCWD, dir+"/after", 0o700)
	task.OnComplete(func() error { seen = true; return nil })
	err := task.Run()
	var failed *CallError
	if !errors.As(err, &failed) || failed.Call != unix.SYS_UNLINKAT || failed.Errno != unix.ENOENT || !IsBatchError(err) || seen {
		t.Errorf("%v, seen: %t", err, seen)
	}
	if _, err := os.Stat(dir + "/before"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/after"); err == nil {
		t.Error("it went on")
	}
	task.Begin()
	task.Call(unix.SYS_GETPID)
	task.OnComplete(func() error { return unix.EBADMSG })
	if err := task.Run(); !IsBatchError(err) {
		t.Errorf("what somebody did not like is %v", err)
	}
	task.Begin()
	for range maxCalls + 1 {
		task.Call(unix.SYS_GETPID)
	}
	if err := task.Run(); !IsBatchError(err) {
		t.Errorf("a list that is too long: %v", err)
	}
	task.Begin()
	task.Openat(unix.AT_FDCWD, strings.Repeat("x", arenaSize), 0, 0)
	if err := task.Run(); !IsBatchError(err) {
		t.Errorf("a list that has no room: %v", err)
	}
	if _, err := task.Call(unix.SYS_GETPID); err != nil {
		t.Errorf("after that: %v", err)
	}
	r.SetStepwise()
	task.Begin()
	if task.Recording() {
		t.Error("a careful stub records")
	}
	if err := task.Unlinkat(unix.AT_FDCWD, dir+"/absent", 0); err != unix.ENOENT {
		t.Errorf("carefully: %v", err)
	}
}

// TestAwait: a list waits for another's, and nobody for one that waits in vain.
func TestAwait(t *testing.T) {
	for _, fails := range []bool{false, true} {
		r := start(t, nil)
		first := r.First()
		child := first.Child(1)
		pidfd := -1
		pid, err := first.Fork(child, 0, &pidfd)
		if err != nil {
			t.Fatal(err)
		}
		ended(t, pid)
		dir, mark := t.TempDir(), r.NewEvent()
		child.Begin()
		child.WaitEvent(mark)
		child.Unlinkat(unix.AT_FDCWD, dir+"/made", unix.AT_REMOVEDIR)
		if err := child.Submit(); err != nil {
			t.Fatal(err)
		}
		first.Begin()
		first.Mkdirat(unix.AT_FDCWD, dir+"/made", 0o700)
		if fails {
			first.Unlinkat(unix.AT_FDCWD, dir+"/absent", 0)
		}
		first.SetEvent(mark)
		if err := first.Submit(); err != nil {
			t.Fatal(err)
		}
		if err := child.Wait(); (err != nil) != fails {
			t.Errorf("the other fails: %t, and this: %v", fails, err)
		}
		if _, err := os.Stat(dir + "/made"); (err == nil) != fails {
			t.Errorf("the other fails: %t: %v", fails, err)
		}
	}
}

// TestForGood: a process ends with a list that must not fail.
func TestForGood(t *testing.T) {
	r := start(t, nil)
	task := r.First()
	task.BeginAlways()
	task.Unlinkat(unix.AT_FDCWD, t.TempDir()+"/absent", 0)
	if err := task.SubmitFatal(); err != nil {
		t.Fatal(err)
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(r.pid, &ws, 0, nil); err != nil || ws.ExitStatus() != 127 {
		t.Errorf("%v, %v", ws, err)
	}
}
