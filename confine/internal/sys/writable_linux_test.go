package sys

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestWritableInodes: a file counts while it is open for writing, or mapped shared.
func TestWritableInodes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = f.Truncate(4096)
	}
	testkit.Must(t, err)
	info, _ := f.Stat()
	inode := info.Sys().(*syscall.Stat_t).Ino
	writable := func() bool {
		inodes, all := WritableInodes([]string{strconv.Itoa(os.Getpid()), "999999999"})
		if all {
			t.Fatal("it could not be told")
		}
		return inodes[inode]
	}
	if !writable() {
		t.Error("open for writing: it does not count")
	}
	b := testkit.Get(syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED))(t)
	f.Close()
	if !writable() {
		t.Error("mapped: it does not count")
	}
	syscall.Munmap(b)
	reader := testkit.Get(os.Open(name))(t)
	defer reader.Close()
	if writable() {
		t.Error("open for reading: it counts")
	}
}

// TestHiddenDescriptors: a descriptor counts that only one thread has, and one that is on its way
// through a socket makes every file count.
func TestHiddenDescriptors(t *testing.T) {
	open := func() (*os.File, uint64) {
		f := testkit.Get(os.Create(filepath.Join(t.TempDir(), "f")))(t)
		info, _ := f.Stat()
		return f, info.Sys().(*syscall.Stat_t).Ino
	}
	pids := []string{strconv.Itoa(os.Getpid())}

	f, inode := open()
	opened, done, over := make(chan error), make(chan struct{}), make(chan struct{})
	var unshare func()
	unshare = func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // not that thread
			go unshare()
			<-over
			runtime.UnlockOSThread()
			return
		}
		defer close(over) // it is not unlocked, so the thread ends with the goroutine
		opened <- unix.Unshare(unix.CLONE_FILES)
		<-done
	}
	go unshare()
	err := <-opened
	f.Close()
	testkit.Must(t, err)
	if inodes, all := WritableInodes(pids); !all && !inodes[inode] {
		t.Error("a thread with a table of its own has it open: it does not count")
	}
	close(done)
	<-over

	f, inode = open()
	pair := testkit.Get(syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0))(t)
	defer syscall.Close(pair[1])
	// While a thread ends, the list of threads is not whole, and then all files count.
	testkit.Eventually(t, "before it is sent, the file counts, and not all do", func() bool {
		inodes, all := WritableInodes(pids)
		return !all && inodes[inode]
	})
	testkit.Must(t, syscall.Sendmsg(pair[0], []byte("x"), syscall.UnixRights(int(f.Fd())), nil, 0))
	f.Close()
	syscall.Close(pair[0])
	if _, all := WritableInodes(pids); !all {
		t.Error("it waits in a socket: it does not count")
	}
}
