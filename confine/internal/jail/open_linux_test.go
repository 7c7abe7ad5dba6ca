package jail

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestOpenByStep: opening a path step by step, for kernels without openat2, gives the same
// objects as openat2.
func TestOpenByStep(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(dir+"/a/b", 0o755), os.WriteFile(dir+"/a/b/file", nil, 0o600),
		os.Symlink("a", dir+"/link"), os.Symlink("file", dir+"/a/b/last"), os.Symlink("/", dir+"/root")); err != nil {
		t.Fatal(err)
	}
	at := testkit.Get(OpenObject(&stub.Task{}, unix.AT_FDCWD, dir))(t)
	defer unix.Close(at)
	for _, p := range []string{"/", ".", dir, dir + "/a/b/file", "a/b", "a/b/file", "a/../a/b", dir + "/link", dir + "/link/b", "link/b/file", "a/b/last", "a/b/last/x", "root/etc", "absent", "a/absent/x", "a/b/file/x", ""} {
		for _, last := range []bool{false, true} {
			flags := uint64(0)
			if last {
				flags = unix.O_NOFOLLOW
			}
			want, wantErr := openBeneath(&stub.Task{}, at, p, flags)
			got, gotErr := openByStep(&stub.Task{}, at, p, last)
			if p == "" {
				if wantErr == nil {
					t.Errorf("%q, %v: it is opened", p, last)
				}
				continue
			}
			if wantErr != gotErr {
				t.Errorf("%q, %v: %v, want %v", p, last, gotErr, wantErr)
				continue
			}
			if gotErr != nil {
				continue
			}
			var a, b unix.Stat_t
			if err := errors.Join(unix.Fstat(want, &a), unix.Fstat(got, &b)); err != nil || a.Dev != b.Dev || a.Ino != b.Ino {
				t.Errorf("%q, %v: another object", p, last)
			}
			unix.Close(want)
			unix.Close(got)
		}
	}
}

// TestOpenPassable: both ways to open find a file in a directory that can be searched and not be
// listed, as directories of other users often can.
func TestOpenPassable(t *testing.T) {
	dir := testkit.ShortDir(t)
	testkit.PlantBelow(t, dir, "passable/in/file")
	testkit.Must(t, os.Chmod(dir, 0o755))
	for _, d := range []string{dir + "/passable", dir + "/passable/in"} {
		testkit.Must(t, os.Chmod(d, 0o111))
		defer os.Chmod(d, 0o755)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // which ends the thread with what it has given up
		if os.Getuid() == 0 {
			unix.RawSyscall(unix.SYS_SETFSUID, 61234, 0, 0) // and the capabilities that pass by modes
		}
		testkit.Is(t, "the control: listing it", testkit.ErrorOf(unix.Open(dir+"/passable", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)), unix.EACCES)
		for _, p := range []string{"/passable", "/passable/in", "/passable/in/file"} {
			for how, open := range map[string]func(string) (int, error){
				"at once": func(p string) (int, error) { return openBeneath(&stub.Task{}, unix.AT_FDCWD, p, 0) },
				"by step": func(p string) (int, error) { return openByStep(&stub.Task{}, unix.AT_FDCWD, p, false) },
			} {
				fd, err := open(dir + p)
				if err != nil {
					t.Errorf("%s, %s: %v", p, how, err)
					continue
				}
				unix.Close(fd)
			}
		}
	}()
	<-done
}
