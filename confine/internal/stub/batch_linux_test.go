package stub

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestBatch checks that results can be arguments of later calls, also of another task's,
// and that what the kernel fills in is there afterwards.
func TestBatch(t *testing.T) {
	r := start(t, nil)
	first := r.First()
	child := first.Child(1)
	dir := t.TempDir()
	testkit.Must(t, os.WriteFile(dir+"/file", []byte("text"), 0o600))
	pidfd, pid := -1, 0
	text := make([]byte, 4)
	var st unix.Statx_t

	first.Begin()
	d, err := Openat(first, unix.AT_FDCWD, dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil || d < futureBase || !first.Batching() {
		t.Fatalf("%#x, %v", d, err)
	}
	fd, _ := Openat(first, d, "file", unix.O_RDWR, 0)
	Mkdirat(first, d, "made", 0o700)
	Mkdirat(first, d, "made", 0o700) // EEXIST is ignored
	Statx(first, fd, "", unix.AT_EMPTY_PATH, unix.STATX_SIZE, &st)
	size := uint64(0)
	first.OnComplete(func() error { size = st.Size; return nil })
	pid, _ = first.Fork(child, unix.CLONE_FILES, &pidfd)
	absent := first.Optional(func() error { _, err := Openat(first, d, "absent", unix.O_RDONLY, 0); return err })

	child.Begin()
	Read(child, fd, text)
	testkit.Fails(t, "a batch starts with the result of another that has not ended", child.Submit(), "")
	testkit.Must(t, first.Run())
	ended(t, first.Resolve(pid))
	child.Begin()
	Read(child, fd, text)
	if err := child.Run(); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if size != 4 || pidfd < 0 || first.Resolve(pid) <= 0 || absent() != unix.ENOENT {
		t.Errorf("%d bytes, descriptor %d, process %d, %v", size, pidfd, first.Resolve(pid), absent())
	}
}

// TestBatchFails checks that a batch ends with the first call that fails, and calls no
// function given to OnComplete.
func TestBatchFails(t *testing.T) {
	r := start(t, nil)
	task := r.First()
	dir := t.TempDir()
	seen := false
	task.Begin()
	Mkdirat(task, unix.AT_FDCWD, dir+"/before", 0o700)
	Unlinkat(task, unix.AT_FDCWD, dir+"/absent", 0)
	Mkdirat(task, unix.AT_FDCWD, dir+"/after", 0o700)
	task.OnComplete(func() error { seen = true; return nil })
	err := task.Run()
	var failed *CallError
	if !errors.As(err, &failed) || failed.Call != unix.SYS_UNLINKAT || failed.Errno != unix.ENOENT || !IsBatchError(err) || seen {
		t.Errorf("%v, seen: %t", err, seen)
	}
	testkit.Works(t, "", testkit.ErrorOf(os.Stat(dir+"/before")))
	testkit.Fails(t, "the batch went on", testkit.ErrorOf(os.Stat(dir+"/after")), "")
	task.Begin()
	task.Call(unix.SYS_GETPID)
	task.OnComplete(func() error { return unix.EBADMSG })
	if err := task.Run(); !IsBatchError(err) {
		t.Errorf("an error of OnComplete becomes %v", err)
	}
	task.Begin()
	for range maxCalls + 1 {
		task.Call(unix.SYS_GETPID)
	}
	if err := task.Run(); !IsBatchError(err) {
		t.Errorf("a batch that is too long: %v", err)
	}
	task.Begin()
	Openat(task, unix.AT_FDCWD, strings.Repeat("x", arenaSize), 0, 0)
	if err := task.Run(); !IsBatchError(err) {
		t.Errorf("arguments that do not fit: %v", err)
	}
	testkit.Works(t, "after that", testkit.ErrorOf(task.Call(unix.SYS_GETPID)))
	r.SetStepwise()
	task.Begin()
	if task.Batching() {
		t.Error("a stepwise stub batches")
	}
	testkit.Is(t, "stepwise", Unlinkat(task, unix.AT_FDCWD, dir+"/absent", 0), unix.ENOENT)
}

// TestSubmitFatal checks that the process exits if a call of the batch fails.
func TestSubmitFatal(t *testing.T) {
	r := start(t, nil)
	task := r.First()
	task.BeginAlways()
	Unlinkat(task, unix.AT_FDCWD, t.TempDir()+"/absent", 0)
	testkit.Must(t, task.SubmitFatal())
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(r.pid, &ws, 0, nil); err != nil || ws.ExitStatus() != 127 {
		t.Errorf("%v, %v", ws, err)
	}
}
