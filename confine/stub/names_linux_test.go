package stub

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// each runs a test with both kinds of task, in a directory of its own.
func each(t *testing.T, test func(t *testing.T, task *Task)) {
	t.Run("of this thread", func(t *testing.T) {
		t.Chdir(t.TempDir())
		test(t, &Task{})
	})
	t.Run("of a stub", func(t *testing.T) {
		t.Chdir(t.TempDir())
		test(t, newStub(t))
	})
}

// newStub is a stub without namespaces, where this process is.
func newStub(t *testing.T) *Task {
	t.Helper()
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	prog, err := Program()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := syscall.ForkExec("/proc/self/fd/5", []string{name}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2, uintptr(s.Memory()), 0, uintptr(prog)}})
	if err != nil {
		t.Fatal(err)
	}
	s.Born()
	t.Cleanup(func() {
		unix.Kill(pid, unix.SIGKILL)
		unix.Wait4(pid, nil, 0, nil)
		s.Died()
		s.Free()
	})
	return s.First()
}

func open(t *testing.T, task *Task, name string, flags int) int {
	t.Helper()
	fd, err := task.Openat(unix.AT_FDCWD, name, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(name, err)
	}
	t.Cleanup(func() { task.Close(fd) })
	return fd
}

// same compares what a task was told with what package unix is told.
func same(t *testing.T, what string, got, want any, err, unixErr error) {
	t.Helper()
	if !errors.Is(err, unixErr) || (err == nil) != (unixErr == nil) {
		t.Errorf("%s: %v, and of package unix %v", what, err, unixErr)
	} else if err == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, and of package unix %v", what, got, want)
	}
}

// TestNamesLooked: what is only looked at is the same as for package unix, errors too.
func TestNamesLooked(t *testing.T) { each(t, namesLooked) }

func namesLooked(t *testing.T, task *Task) {
	if err := errors.Join(os.WriteFile("file", []byte("text"), 0o640), os.Symlink("file", "link"), os.Mkdir("dir", 0o700)); err != nil {
		t.Fatal(err)
	}
	dir := open(t, task, ".", unix.O_PATH)
	fd, err := unix.Open(".", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, name := range []string{"file", "link", "dir", "absent", "file/x", "a\x00b", strings.Repeat("x", unix.PathMax+1)} {
		nul := strings.Contains(name, "\x00") // has an error of its own
		for _, flags := range []int{0, unix.AT_SYMLINK_NOFOLLOW} {
			var a, b unix.Stat_t
			err := task.Fstatat(dir, name, &a, flags)
			if unixErr := unix.Fstatat(fd, name, &b, flags); !nul {
				same(t, "Fstatat "+name, a, b, err, unixErr)
			} else if err == nil {
				t.Error("a name with a NUL")
			}
		}
		if nul {
			continue
		}
		a, b := make([]byte, unix.PathMax), make([]byte, unix.PathMax)
		n, err := task.Readlinkat(dir, name, a)
		m, unixErr := unix.Readlinkat(fd, name, b)
		same(t, "Readlinkat "+name, string(a[:max(n, 0)]), string(b[:max(m, 0)]), err, unixErr)
		n, err = task.Readlink(name, a)
		m, unixErr = unix.Readlink(name, b)
		same(t, "Readlink "+name, string(a[:max(n, 0)]), string(b[:max(m, 0)]), err, unixErr)
		var s, u unix.Statfs_t
		err, unixErr = task.Statfs(name, &s), unix.Statfs(name, &u)
		same(t, "Statfs "+name, [2]int64{int64(s.Type), int64(s.Flags)}, [2]int64{int64(u.Type), int64(u.Flags)}, err, unixErr)
	}
	for _, size := range []int{unix.PathMax, 3} {
		a, b := make([]byte, size), make([]byte, size)
		n, err := task.Getcwd(a)
		m, unixErr := unix.Getcwd(b)
		same(t, "Getcwd", string(a[:max(n, 0)]), string(b[:max(m, 0)]), err, unixErr)
	}
	if task.Local() != (task.stub == nil) {
		t.Error("Local")
	}
}

// TestNamesChanged: each call does what it is called for.
func TestNamesChanged(t *testing.T) { each(t, namesChanged) }

func namesChanged(t *testing.T, task *Task) {
	ok := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(what, err)
		}
	}
	stat := func(name string) (st unix.Stat_t) {
		t.Helper()
		ok("lstat "+name, unix.Lstat(name, &st))
		return st
	}
	ok("write", os.WriteFile("a", []byte("text"), 0o640))
	ino := stat("a").Ino
	ok("Linkat", task.Linkat(unix.AT_FDCWD, "a", unix.AT_FDCWD, "b", 0))
	if st := stat("b"); st.Ino != ino || st.Nlink != 2 {
		t.Error("Linkat made another file")
	}
	ok("Renameat2", task.Renameat2(unix.AT_FDCWD, "b", unix.AT_FDCWD, "c", 0))
	if _, err := os.Lstat("b"); err == nil || stat("c").Ino != ino {
		t.Error("Renameat2 moved nothing")
	}
	if err := task.Renameat2(unix.AT_FDCWD, "a", unix.AT_FDCWD, "c", unix.RENAME_NOREPLACE); err != unix.EEXIST {
		t.Error("Renameat2 without its flags:", err)
	}
	ok("Fchmodat", task.Fchmodat(unix.AT_FDCWD, "a", 0o604))
	if st := stat("a"); st.Mode&0o7777 != 0o604 {
		t.Errorf("Fchmodat: %o", st.Mode)
	}
	ok("symlink", os.Symlink("nowhere", "link"))
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 7, 8
	}
	ok("Fchownat", task.Fchownat(unix.AT_FDCWD, "link", uid, gid, unix.AT_SYMLINK_NOFOLLOW))
	if st := stat("link"); int(st.Uid) != uid || int(st.Gid) != gid {
		t.Errorf("Fchownat: %d %d", st.Uid, st.Gid)
	}
	times := []unix.Timespec{{Sec: 1, Nsec: 2}, {Sec: 3, Nsec: 4}}
	ok("UtimesNanoAt", task.UtimesNanoAt(unix.AT_FDCWD, "a", times, 0))
	if st := stat("a"); st.Atim != times[0] || st.Mtim != times[1] {
		t.Errorf("UtimesNanoAt: %v %v", st.Atim, st.Mtim)
	}
	ok("UtimesNanoAt now", task.UtimesNanoAt(unix.AT_FDCWD, "a", nil, 0))
	if st := stat("a"); st.Mtim.Sec < 1e9 {
		t.Errorf("UtimesNanoAt now: %v", st.Mtim)
	}
	if err := task.UtimesNanoAt(unix.AT_FDCWD, "a", times[:1], 0); err != unix.EINVAL {
		t.Error("UtimesNanoAt of one time:", err)
	}
	fd := open(t, task, "a", unix.O_RDWR)
	ok("Ftruncate", task.Ftruncate(fd, 1<<33))
	if st := stat("a"); st.Size != 1<<33 {
		t.Errorf("Ftruncate: %d", st.Size)
	}
	for _, on := range []bool{true, true, false, false} {
		ok("SetNonblock", task.SetNonblock(fd, on))
		flags, err := task.FcntlInt(fd, unix.F_GETFL, 0)
		ok("FcntlInt", err)
		if flags&unix.O_NONBLOCK != 0 != on {
			t.Errorf("SetNonblock %t: %o", on, flags)
		}
	}
	if err := task.SetNonblock(-1, true); err != unix.EBADF {
		t.Error("SetNonblock of nothing:", err)
	}
}

// TestIoctl: what the argument points to is what the kernel reads.
func TestIoctl(t *testing.T) {
	each(t, func(t *testing.T, task *Task) {
		pty := open(t, task, "/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY)
		size := unix.Winsize{Row: 12, Col: 34}
		arg := unsafe.Slice((*byte)(unsafe.Pointer(&size)), unsafe.Sizeof(size))
		if _, err := task.Ioctl(pty, unix.TIOCSWINSZ, arg); err != nil {
			t.Fatal(err)
		}
		var got unix.Winsize
		err := into(task, &got, func(at uintptr) error { return task.do(unix.SYS_IOCTL, uintptr(pty), unix.TIOCGWINSZ, at) })
		if err != nil || got != size {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// TestGetdents: every entry is listed once, with its kind, however many reads it takes.
func TestGetdents(t *testing.T) { each(t, getdents) }

func getdents(t *testing.T, task *Task) {
	var want []string
	for i := range 300 {
		name := strings.Repeat("n", i%250+1) + string(rune('a'+i/250))
		want = append(want, name)
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("dir", 0o700); err != nil {
		t.Fatal(err)
	}
	want = append(want, "dir")
	fd := open(t, task, ".", unix.O_DIRECTORY)
	var got []string
	for b := make([]byte, 1<<10); ; {
		n, err := task.Getdents(fd, b)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
		for _, e := range Entries(b[:n]) {
			got = append(got, e.Name)
			if isDir := e.Type == unix.DT_DIR; e.Type != unix.DT_UNKNOWN && isDir != (e.Name == "dir") {
				t.Errorf("%s is of type %d", e.Name, e.Type)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d entries, want %d", len(got), len(want))
	}
	if _, err := task.Getdents(-1, make([]byte, 1024)); err != unix.EBADF {
		t.Error(err)
	}
}

// TestUnshare: the thread has a working directory and a umask of its own then.
func TestUnshare(t *testing.T) {
	task := &Task{}
	before, _ := filepath.Abs(".")
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // which ends with the goroutine
		err := task.Unshare(unix.CLONE_FS)
		if err == nil {
			err = task.Chdir("/")
		}
		if err := task.LandlockRestrictSelf(-1, 0); err == nil {
			t.Error("LandlockRestrictSelf with no ruleset")
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var b [unix.PathMax]byte
	if n, err := unix.Getcwd(b[:]); err != nil || string(b[:n-1]) != before {
		t.Errorf("the working directory of others is %q, %v", b[:max(n-1, 0)], err)
	}
}

// TestRoomAgain: a call that has no room is not made, and the next one is.
func TestRoomAgain(t *testing.T) { each(t, roomAgain) }

func roomAgain(t *testing.T, task *Task) {
	task.begin()
	if err := task.Chdir(strings.Repeat("x", len(task.room))); err != unix.ENOMEM {
		t.Error(err)
	}
	if err := task.Close(-1); err != unix.EBADF {
		t.Error("afterwards:", err)
	}
}
