package attacker

import (
	"fmt"
	"net"
	"os"
	"path"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"golang.org/x/sys/unix"
)

// CallVerbs are the verbs for calls that the supervisor mediates.
var CallVerbs = map[string]func(args []string) (string, error){
	"await":    silent(attemptAwait),
	"creating": silent(func(a []string) error { return Closing(unix.Open(a[0], unix.O_WRONLY|unix.O_CREAT, 0o644)) }),
	"by-cwd": silent(func(a []string) error {
		must(unix.Chdir(a[0]))
		return Closing(unix.Open(a[1], unix.O_WRONLY|unix.O_CREAT, 0o644))
	}),
	"by-dir": silent(func(a []string) error {
		return inDir(a[0], func(dir int) error { return unix.Mkdirat(dir, a[1], 0o755) })
	}),
	"by-fd": silent(func(a []string) error {
		return inDir(a[0], func(dir int) error { return unix.Mkdir(fmt.Sprintf("/proc/self/fd/%d/%s", dir, a[1]), 0o755) })
	}),
	"by-dir-creat": silent(func(a []string) error {
		return inDir(a[0], func(dir int) error {
			return Closing(unix.Openat(dir, a[1], unix.O_RDONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600))
		})
	}),
	"open-creat": silent(func(a []string) error {
		return Closing(unix.Open(a[0], unix.O_RDONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600))
	}),
	"link-fd": silent(func(a []string) error {
		return onFD(a[0], func(fd int) error {
			return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, a[1], unix.AT_SYMLINK_FOLLOW)
		})
	}),
	"connect-tcp": silent(func(a []string) error {
		c, err := net.Dial("tcp", a[0])
		if err == nil {
			c.Close()
		}
		return err
	}),
	"fill-new": silent(func(a []string) error {
		f, err := os.OpenFile(a[0], os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		return fill(f, err, a[1])
	}),
	"fill-unnamed": silent(func(a []string) error {
		f, err := os.OpenFile(path.Dir(a[0]), os.O_RDWR|unix.O_TMPFILE, 0o644)
		must(fill(f, err, a[1]))
		defer f.Close()
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.AT_FDCWD, a[0], unix.AT_SYMLINK_FOLLOW)
	}),
	// refill opens a file that it made once more, by its descriptor.
	"refill": silent(func(a []string) error {
		f := get(os.OpenFile(a[0], os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644))
		return Closing(unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.O_WRONLY, 0))
	}),
	"unanswered":    silent(attemptUnanswered),
	"race-maker":    attemptRaceMaker,
	"race-mover":    attemptRaceMover,
	"race-memory":   attemptRaceMemory,
	"race-rename":   attemptRaceRename,
	"race-symlink":  attemptRaceSymlink,
	"race-open":     attemptRaceOpen,
	"race-create":   attemptRaceCreate,
	"race-exchange": attemptRaceExchange,
	"open-often":    attemptOpenOften,
	"blocked-opens": attemptBlockedOpens,
	"swapped-opens": attemptSwappedOpens,
	"fifo-anew":     silent(attemptFifoAnew),
	"many-opens":    attemptManyOpens,
	"reopen-fd": silent(func(a []string) error { // for writing, what is open for reading
		fd := get(unix.Open(a[0], unix.O_RDONLY|unix.O_CLOEXEC, 0))
		defer unix.Close(fd)
		return Closing(unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_WRONLY, 0))
	}),
	"reopen-removed": silent(func(a []string) error { // a file of its own that has no name any more
		fd := get(unix.Open(a[0], unix.O_RDONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o644))
		defer unix.Close(fd)
		must(unix.Unlink(a[0]))
		return Closing(unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_WRONLY, 0))
	}),
	"rename-shut": silent(func(a []string) error { // with a directory in it that is shut meanwhile
		must(unix.Chmod(a[0]+"/"+a[2], 0))
		err := unix.Rename(a[0], a[1])
		for _, dir := range a[:2] {
			unix.Chmod(dir+"/"+a[2], 0o755)
		}
		return err
	}),
	"many-names":         attemptParallelNames,
	"calls":              attemptCalls,
	"changes-attributes": attemptAttributes,
	"creates":            attemptCreates,
}

func attemptAwait(a []string) error {
	for range 1000 {
		if _, err := os.Lstat(a[0]); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return unix.ETIMEDOUT
}

func fill(f *os.File, err error, text string) error {
	if err == nil {
		_, err = f.WriteString(text)
	}
	return err
}

func inDir(name string, f func(dir int) error) error {
	dir, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return f(dir)
}

// attemptUnanswered installs the filter of a supervised server for this thread and closes the
// listener.
func attemptUnanswered(a []string) error {
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	prog := get(seccomp.CompileListener(arch, seccomp.Options{}, seccomp.NotifyRules(false, false)))
	must(jail.SetNoNewPrivs(&stub.Task{}))
	fd := get(seccomp.Install(&stub.Task{}, seccomp.Records(prog), unix.SECCOMP_FILTER_FLAG_NEW_LISTENER))
	unix.Close(fd)
	return unix.Mkdir(a[0]+"/new", 0o755)
}

func attemptManyOpens(a []string) (string, error) {
	var right atomic.Int64
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range Number(a[1]) {
				name := fmt.Sprintf("%s/x/%d-%d", a[0], g, i)
				f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
				if err != nil {
					continue
				}
				var opened, named unix.Stat_t
				if unix.Fstat(int(f.Fd()), &opened) == nil && unix.Stat(name, &named) == nil && opened.Ino == named.Ino {
					right.Add(1)
				}
				f.Close()
				_ = make([]byte, 64<<10) // garbage: the collector stops the world by signals
			}
		})
	}
	wg.Wait()
	return strconv.FormatInt(right.Load(), 10), nil
}
