package attacker

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func attemptCalls(a []string) (string, error) {
	must(unix.Chdir(a[0]))
	c := &calls{dir: a[0]}
	c.open("inherited", unix.O_WRONLY|unix.O_CREAT, 0o666)
	c.note("mkdir", unix.Mkdir("own", 0o777))
	unix.Umask(0o027)
	c.opens()
	c.names()
	c.others()
	return strings.Join(c.out, ";"), nil
}

type calls struct {
	dir string
	out []string
}

func (c *calls) note(what string, err error) {
	result := "ok"
	var errno syscall.Errno
	if errors.As(err, &errno) {
		result = unix.ErrnoName(errno)
	}
	c.out = append(c.out, what+"="+result)
}

func (c *calls) open(name string, flags int, mode uint32) {
	fd, err := unix.Open(name, flags, mode)
	what := fmt.Sprintf("open(%s,%#x,%o)", strings.ReplaceAll(name, c.dir, "DIR"), flags, mode)
	if err != nil {
		c.note(what, err)
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	unix.Fstat(fd, &st)
	fl, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	fdfl, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	fl &^= unix.O_LARGEFILE | flags&unix.O_NOFOLLOW // what was asked for by O_NOFOLLOW does not show it in a jail
	c.out = append(c.out, fmt.Sprintf("%s=%o fl %#x fd %#x size %d", what, st.Mode, fl, fdfl, st.Size))
}

func (c *calls) opens() {
	const wc = unix.O_WRONLY | unix.O_CREAT
	for _, name := range []string{
		"f", "./f", "d/../f", c.dir + "/f", "l", "absolute", "loop1", "d", "d/", "f/", "f/x", "none/x", "", ".", "..", "d/.", "d/..", "/",
		"dl/e", "dl", "dl/", "l/", strings.Repeat("n", 256), strings.Repeat("n/", 2100), "/proc/self/cwd/f", "/dev/null", "/dev/zero", "/dev/tty",
	} {
		c.open(name, unix.O_WRONLY, 0)
		c.open(name, unix.O_RDWR|unix.O_CLOEXEC, 0)
		c.open(name, unix.O_RDONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
		c.open(name, unix.O_WRONLY|unix.O_NOFOLLOW, 0)
	}
	for _, mode := range []uint32{0o777, 0o666, 0o1777, 0o400, 0} {
		c.open(fmt.Sprintf("made%o", mode), unix.O_RDWR|unix.O_CREAT, mode)
		c.open(fmt.Sprintf("made%o", mode), wc|unix.O_EXCL, mode)
	}
	c.open("dangling", unix.O_WRONLY, 0)
	c.open("dangling", wc|unix.O_EXCL, 0o644)
	c.open("dangling", wc|unix.O_NOFOLLOW, 0o644)
	c.open("dangling", wc, 0o644)
	c.open("new", unix.O_WRONLY|unix.O_APPEND|unix.O_NONBLOCK, 0)
	c.open("f", unix.O_RDONLY|unix.O_TRUNC, 0)
	c.open("f", unix.O_PATH|unix.O_WRONLY, 0)
	c.open("l", unix.O_PATH|unix.O_RDWR|unix.O_NOFOLLOW, 0)
	c.open(".", unix.O_TMPFILE|unix.O_RDWR, 0o666)
	c.open("d", unix.O_TMPFILE|unix.O_WRONLY|unix.O_EXCL, 0o600)
	c.open("f", unix.O_TMPFILE|unix.O_WRONLY, 0o600)
	c.open("d", unix.O_DIRECTORY|unix.O_WRONLY, 0)
	c.open("newdir/", wc, 0o644)
	_, _, errno := unix.Syscall(unix.SYS_OPENAT, ^uintptr(99), 1, uintptr(wc))
	c.note("open(bad pointer)", errno)
	_, err := unix.Openat(99, "x", wc, 0o644)
	c.note("openat(bad fd)", err)
	if fd, err := unix.Open("f", unix.O_RDONLY, 0); err == nil {
		_, err = unix.Openat(fd, "x", wc, 0o644)
		c.note("openat(a file)", err)
		dup(fd, 77)
		c.open("/proc/self/fd/77", unix.O_WRONLY, 0)
		c.open("/dev/fd/77", wc|unix.O_APPEND, 0)
		unix.Close(fd)
	}
	r, w, _ := os.Pipe()
	dup(int(w.Fd()), 78)
	c.open("/dev/fd/78", unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, 0o666)
	r.Close()
	w.Close()
}

func dup(fd, to int) { unix.Dup3(fd, to, 0) }

func (c *calls) names() {
	for _, name := range []string{"m", "m", "m/", "m2/", "f", "f/x", "l", "dangling", "loop1", "none/x", "", ".", "..", "/", "m/.", "m/..", "dl/m", strings.Repeat("n", 256)} {
		c.note("mkdir "+name, unix.Mkdir(name, 0o777))
	}
	for _, name := range []string{"fifo", "fifo", "none/fifo", "fifo/", "d/"} {
		c.note("mkfifo "+name, unix.Mkfifo(name, 0o666))
	}
	c.note("mknod reg", unix.Mknod("reg", 0o666, 0))
	c.note("mknod sock", unix.Mknod("sock", unix.S_IFSOCK|0o666, 0))
	for _, to := range []string{"s", "s", "s2/", "none/s", "", "d"} {
		c.note("symlink "+to, unix.Symlink("f", to))
	}
	c.note("symlink empty", unix.Symlink("", "s3"))
	for _, l := range [][2]string{{"f", "h"}, {"f", "h"}, {"l", "hl"}, {"d", "hd"}, {"none", "hn"}, {"f", "none/h"}, {"f", "d/h"}, {"f", "hh/"}, {"f/", "slash"}, {"l/", "slash"}, {"d/", "slash"}} {
		c.note("link "+l[0]+" "+l[1], unix.Link(l[0], l[1]))
	}
	c.note("linkat follow", unix.Linkat(unix.AT_FDCWD, "l", unix.AT_FDCWD, "hfollow", unix.AT_SYMLINK_FOLLOW))
	for _, name := range []string{"f/", "l/", "dl/", "dangling"} {
		c.note("linkat follow "+name, unix.Linkat(unix.AT_FDCWD, name, unix.AT_FDCWD, "slash", unix.AT_SYMLINK_FOLLOW))
	}
	c.note("linkat flags", unix.Linkat(unix.AT_FDCWD, "f", unix.AT_FDCWD, "hflags", 0x8))
	for _, r := range [][2]string{
		{"h", "h2"}, {"h2", "f"}, {"none", "x"}, {"m", "m3"}, {"m3/", "m/"}, {"m", "d"}, {"d", "m"}, {"f", "d"}, {"m", "m/sub"}, {".", "x"}, {"m", ".."}, {"s", "s4"}, {"f/", "x"}, {"m2", "none/x"}, {"", "x"}, {"f", ""},
	} {
		c.note("rename "+r[0]+" "+r[1], unix.Rename(r[0], r[1]))
	}
	c.note("exchange", unix.Renameat2(unix.AT_FDCWD, "f", unix.AT_FDCWD, "reg", unix.RENAME_EXCHANGE))
	c.note("exchange none", unix.Renameat2(unix.AT_FDCWD, "f", unix.AT_FDCWD, "none", unix.RENAME_EXCHANGE))
	c.note("noreplace", unix.Renameat2(unix.AT_FDCWD, "f", unix.AT_FDCWD, "reg", unix.RENAME_NOREPLACE))
	c.note("rename flags", unix.Renameat2(unix.AT_FDCWD, "f", unix.AT_FDCWD, "g", 0x40))
}

func (c *calls) others() {
	for _, name := range []string{"f", "l", "dl", "none", "f/", "d/e", "", "fifo", "loop1"} {
		c.note("truncate "+name, unix.Truncate(name, 3))
	}
	c.note("truncate negative", unix.Truncate("f", -1))
	// A fifo waits for its reader, and its descriptor is not left non-blocking.
	c.open("fifo", unix.O_WRONLY|unix.O_NONBLOCK, 0)
	c.open("fifo", unix.O_RDWR, 0)
	go func() {
		time.Sleep(100 * time.Millisecond)
		fd, _ := unix.Open("fifo", unix.O_RDONLY|unix.O_NONBLOCK, 0)
		time.Sleep(300 * time.Millisecond)
		unix.Close(fd)
	}()
	c.open("fifo", unix.O_WRONLY, 0)
	for _, name := range []string{"s", "s4", "d", "none", "f/", "", "."} {
		c.note("unlink "+name, unix.Unlink(name))
	}
	for _, name := range []string{"m2", "m2", "d", "f", ".", "dl", "m/"} {
		c.note("rmdir "+name, unix.Rmdir(name))
	}
	c.note("unlinkat dir", unix.Unlinkat(unix.AT_FDCWD, "d/m", unix.AT_REMOVEDIR))
	c.note("unlinkat flags", unix.Unlinkat(unix.AT_FDCWD, "f", 0x1))
	var limit unix.Rlimit
	unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	few := limit
	few.Cur = 3
	unix.Setrlimit(unix.RLIMIT_NOFILE, &few)
	c.open("reg", unix.O_WRONLY, 0)
	unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
}
