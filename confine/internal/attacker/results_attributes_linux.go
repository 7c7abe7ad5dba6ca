package attacker

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"golang.org/x/sys/unix"
)

// attemptAttributes makes every call that changes modes, owners and times, in many ways, in a
// tree of the test, and answers with all results. A second argument leaves out fchmodat2, which
// the supervisor provides also on kernels without it (before 6.6).
func attemptAttributes(a []string) (string, error) {
	must(unix.Chdir(a[0]))
	c := &calls{dir: a[0]}
	c.modes(len(a) == 1)
	c.owners()
	c.times()
	return strings.Join(c.out, ";"), nil
}

func (c *calls) did(what string, err error) {
	c.note(what, err)
	for _, name := range []string{"f", "d", "l"} {
		var st unix.Stat_t
		if unix.Lstat(name, &st) != nil {
			continue
		}
		at := func(t unix.Timespec) string {
			if t.Sec > 1e6 {
				return "now"
			}
			return fmt.Sprintf("%d.%09d", t.Sec, t.Nsec)
		}
		c.out[len(c.out)-1] += fmt.Sprintf(" %s %o %s %s", name, st.Mode, at(st.Atim), at(st.Mtim))
	}
}

var oddNames = []string{"f", "l", "d", "d/", "f/", "l/", "dl/", "f/x", "none", "none/x", "dangling", "loop1", "", ".", strings.Repeat("n", 256)}

// oddDescriptors calls f with descriptors of objects that mostly have no path. None is O_PATH: by
// such a descriptor the supervisor changes the object, and the kernel does not.
func (c *calls) oddDescriptors(f func(what string, fd int)) {
	file, _ := os.OpenFile("f", os.O_RDONLY, 0)
	defer file.Close()
	gone, _ := os.Create("gone")
	defer gone.Close()
	os.Remove("gone")
	named, _ := os.Create("named (deleted)")
	defer named.Close()
	r, w, _ := os.Pipe()
	defer r.Close()
	defer w.Close()
	pair, _ := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	event, _ := unix.Eventfd(0, unix.EFD_CLOEXEC)
	defer unix.Close(event)
	memory, _ := unix.MemfdCreate("x", unix.MFD_CLOEXEC)
	defer unix.Close(memory)
	for _, odd := range []struct {
		what string
		fd   int
	}{
		{"memory", memory},
		{"file", int(file.Fd())}, {"gone", int(gone.Fd())}, {"named", int(named.Fd())}, {"pipe", int(r.Fd())},
		{"socket", pair[0]}, {"event", event}, {"bad", 99},
	} {
		f(odd.what, odd.fd)
	}
}

func (c *calls) modes(all bool) {
	for i, name := range oddNames {
		c.did("chmod "+name, unix.Chmod(name, 0o1700|uint32(i)))
		if !all {
			continue
		}
		c.did("fchmodat2 "+name, ChangeMode(unix.AT_FDCWD, name, 0o740|uint32(i), 0))
		c.did("fchmodat2 itself "+name, ChangeMode(unix.AT_FDCWD, name, 0o710|uint32(i), unix.AT_SYMLINK_NOFOLLOW))
	}
	c.did("chmod with more bits", unix.Chmod("f", 0o170000|0o644))
	if all {
		c.did("fchmodat2 flags", ChangeMode(unix.AT_FDCWD, "f", 0o600, 0x8))
	}
	c.oddDescriptors(func(what string, fd int) {
		c.did("fchmod of "+what, unix.Fchmod(fd, 0o631))
		if !all {
			return
		}
		c.did("fchmodat2 empty of "+what, ChangeMode(fd, "", 0o613, unix.AT_EMPTY_PATH))
		c.did("fchmodat2 empty, not said of "+what, ChangeMode(fd, "", 0o616, 0))
		c.did("fchmodat relative of "+what, ChangeMode(fd, "x", 0o616, 0))
		unix.Chmod("f", 0o644)
	})
}

func ChangeMode(dir int, name string, mode uint32, flags int) error {
	p, _ := unix.BytePtrFromString(name)
	_, _, errno := unix.Syscall6(unix.SYS_FCHMODAT2, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(mode), uintptr(flags), 0, 0)
	return NilIfZero(errno)
}

func (c *calls) owners() {
	uid, gid := os.Getuid(), os.Getgid()
	for _, name := range oddNames {
		c.did("chown "+name, unix.Chown(name, uid, -1))
		c.did("lchown "+name, unix.Lchown(name, -1, gid))
	}
	c.did("fchownat flags", unix.Fchownat(unix.AT_FDCWD, "f", uid, gid, 0x1))
	c.oddDescriptors(func(what string, fd int) {
		c.did("fchown of "+what, unix.Fchown(fd, uid, gid))
		c.did("fchownat empty of "+what, unix.Fchownat(fd, "", uid, gid, unix.AT_EMPTY_PATH))
		c.did("fchownat empty, not said of "+what, unix.Fchownat(fd, "", uid, gid, 0))
	})
}

func (c *calls) times() {
	for i, name := range oddNames {
		at := []unix.Timespec{{Sec: int64(i), Nsec: 11}, {Sec: int64(i), Nsec: 22}}
		c.did("utimensat "+name, unix.UtimesNanoAt(unix.AT_FDCWD, name, at, 0))
		at[0].Sec += 100
		c.did("utimensat itself "+name, unix.UtimesNanoAt(unix.AT_FDCWD, name, at, unix.AT_SYMLINK_NOFOLLOW))
		c.did("utimes "+name, utimes(name, [2]unix.Timeval{{Sec: int64(i), Usec: 3}, {Sec: 7, Usec: 999999}}))
	}
	for _, nsec := range []int64{-1, 1e9, 1e9 - 1, unix.UTIME_OMIT, unix.UTIME_NOW} {
		c.did(fmt.Sprint("utimensat with ", nsec), unix.UtimesNanoAt(unix.AT_FDCWD, "f", []unix.Timespec{{Sec: 1, Nsec: nsec}, {Sec: 2, Nsec: nsec}}, 0))
		c.did("back", unix.UtimesNanoAt(unix.AT_FDCWD, "f", []unix.Timespec{{Sec: 1}, {Sec: 2}}, 0))
	}
	for _, usec := range []int64{-1, 1e6, 1e6 - 1} {
		c.did(fmt.Sprint("utimes with ", usec), utimes("f", [2]unix.Timeval{{Sec: 3, Usec: usec}, {Sec: 4}}))
		c.did(fmt.Sprint("utimes then ", usec), utimes("f", [2]unix.Timeval{{Sec: 5}, {Sec: 6, Usec: usec}}))
	}
	name, _ := unix.BytePtrFromString("f")
	for _, odd := range []struct {
		what       string
		name, time uintptr
		flags      uintptr
	}{
		{"flags", uintptr(unsafe.Pointer(name)), 0, 0x1},
		{"bad times", uintptr(unsafe.Pointer(name)), 1, 0},
		{"bad name", 1, 0, 0},
		{"no name", 0, 0, 0},
		{"now", uintptr(unsafe.Pointer(name)), 0, 0},
		{"no name, nowhere", 0, 1, 0},
	} {
		_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, ^uintptr(99), odd.name, odd.time, odd.flags, 0, 0)
		c.did("utimensat "+odd.what, NilIfZero(errno))
	}
	at := []unix.Timespec{{Sec: 8, Nsec: 1}, {Sec: 9, Nsec: 2}}
	c.oddDescriptors(func(what string, fd int) {
		_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&at[0])), 0, 0, 0)
		c.did("futimens of "+what, NilIfZero(errno))
		if what != "bad" { // which of the two is wrong is a matter of what is looked at first
			_, _, errno = unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&at[0])), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
			c.did("futimens with flags of "+what, NilIfZero(errno))
		}
		c.did("utimensat empty of "+what, unix.UtimesNanoAt(fd, "", at, unix.AT_EMPTY_PATH))
		c.did("utimensat empty, not said of "+what, unix.UtimesNanoAt(fd, "", at, 0))
		unix.UtimesNanoAt(unix.AT_FDCWD, "f", []unix.Timespec{{Sec: 1}, {Sec: 2}}, 0)
	})
	runtime.KeepAlive(name)
}

func utimes(name string, at [2]unix.Timeval) error {
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	nr, ok := seccomp.CallNumber(arch, "utimes")
	if !ok {
		return unix.ENOSYS
	}
	p, _ := unix.BytePtrFromString(name)
	_, _, errno := unix.Syscall(uintptr(nr), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(&at)), 0)
	return NilIfZero(errno)
}
