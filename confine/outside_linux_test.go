package confine

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
	"github.com/mcp-jail/mcp-jail/internal/testkit"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestHostMountsStayOutside: what the host mounts in a granted directory after the start
// was not granted, and does not show. In any other mount namespace it does.
func TestHostMountsStayOutside(t *testing.T) {
	if inMounts(t, "") {
		return
	}
	for _, c := range []struct {
		what   string
		jailed bool
		want   outcome
	}{{"in the jail", true, "ENOENT"}, {"in another mount namespace", false, "ok LATE"}} {
		dir := testkit.Plant(t, "ws/sub/", "go/")
		tries := []attempt{try("await", dir+"/go/on"), try("read", dir+"/ws/sub/late")}
		var finish func() []byte
		if c.jailed {
			s := begin(t, jailProfile(t, grant{dir + "/ws", rw}, grant{dir + "/go", r}), tries...)
			finish = func() []byte { s.finish(); return s.out.Bytes() }
		} else {
			var out bytes.Buffer
			cmd := exec.Command(testBinary)
			cmd.Args = append([]string{probeName}, probeArgs(t, tries)...)
			cmd.Stdout, cmd.SysProcAttr = &out, &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			finish = func() []byte { cmd.Wait(); return out.Bytes() }
		}
		if err := unix.Mount("none", dir+"/ws/sub", "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"ws/sub/late", "go/on"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte("LATE"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got := outcomes(t, tries, finish(), c.what)
		expect(t, c.what+", waiting", got[0], succeeded)
		expect(t, c.what, got[1], c.want)
		if err := unix.Unmount(dir+"/ws/sub", unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFreshKeyring: the session keyring that the server has is not its user's. That it
// cannot use that one either is the filter's doing.
func TestFreshKeyring(t *testing.T) {
	needs(t, "seccomp")
	var ids [3]int
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and the thread ends with it
		var err error
		for i := range ids {
			if i == 2 && err == nil {
				err = freshKeyring(&stub.Task{})
			}
			if err == nil {
				ids[i], err = sessionKeyring()
			}
		}
		done <- err
	}()
	err := <-done
	if err == unix.EPERM || err == unix.ENOSYS {
		t.Logf("there is a filter around us: %v", err)
		return
	}
	if err != nil || ids[0] != ids[1] || ids[1] == ids[2] {
		t.Errorf("%v, %v: the first two are to be one keyring, and the last another", ids, err)
	}
}

func sessionKeyring() (int, error) {
	return unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
}

// TestCheckMounts: a name that does not lead to the carve-out that was attached there
// fails the start: it leads to what should be below it, or to what has not its flags.
func TestCheckMounts(t *testing.T) {
	if inMounts(t, "mount -t tmpfs -o ro,noexec none /mnt;") {
		return
	}
	dir := testkit.Plant(t, "file")
	idOf := func(path string) policy.FileID {
		fd, err := openLast(&stub.Task{}, unix.AT_FDCWD, path)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		id, err := objectOf(fd)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	file, sealed, gone := dir+"/file", "/mnt", dir+"/gone"
	for _, c := range []struct {
		what string
		op   mountOp
		want error
	}{
		{"a mask", mountOp{kind: mountMask, path: sealed, id: idOf(file)}, nil},
		{"a mask that is elsewhere", mountOp{kind: mountMask, path: file, id: idOf(file)}, errSwapped},
		{"a mask of what is gone", mountOp{kind: mountMask, path: gone, id: idOf(file)}, nil},
		{"an own place that is elsewhere", mountOp{kind: mountTmpfs, path: dir, id: idOf(dir)}, errSwapped},
		{"a copy that is elsewhere", mountOp{kind: mountCopy, path: dir, id: idOf(dir)}, errSwapped},
		{"read-only", mountOp{kind: mountBind, path: sealed, ro: true}, nil},
		{"read-only, elsewhere", mountOp{kind: mountBind, path: file, ro: true}, errSwapped},
		{"read-only, gone", mountOp{kind: mountBind, path: gone, ro: true}, unix.ENOENT},
		{"without programs", mountOp{kind: mountBind, path: sealed, noexec: true}, nil},
		{"without programs, elsewhere", mountOp{kind: mountBind, path: file, noexec: true}, errSwapped},
		{"pinned read-only", mountOp{kind: mountPin, path: sealed, ro: true}, nil},
		{"pinned read-only, elsewhere", mountOp{kind: mountPin, path: file, ro: true}, errSwapped},
		{"writable, which is no carve-out", mountOp{kind: mountBind, path: gone}, nil},
	} {
		c.op.inside = true
		if err := (&builder{init: &stub.Task{}, order: &order{Mounts: []mountOp{c.op}}}).checkMounts(); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
}
