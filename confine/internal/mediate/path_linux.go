package mediate

import (
	"path"
	"strconv"
	"strings"
	"syscall"

	procpkg "github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// A place is a name in a directory that is held open: what the kernel's own walk
// along a path ends at, before its last component is looked at.
type PathRef struct {
	Dir     int    // O_PATH; closed by close
	Name    string // one component, "." or ".."
	tail    string // the slashes behind it
	proc    bool   // dir is in a proc(5)
	private bool   // the thread that looks has a working directory of its own
}

func (p *PathRef) close() {
	if p.Dir >= 0 {
		unix.Close(p.Dir)
		p.Dir = -1
	}
}

// special tells the names that no call can make or remove.
func (p *PathRef) special() bool { return p.Name == "." || p.Name == ".." }

// full is the canonical path of the place, as the jail sees it.
func (p *PathRef) full() (string, syscall.Errno) {
	dir, errno := p.path()
	switch {
	case errno != 0:
		return "", errno
	case p.special():
		return path.Join(dir, p.Name), 0
	case dir == "/":
		return "/" + p.Name, 0
	}
	return dir + "/" + p.Name, 0
}

// path is that of the directory. To go there and ask is a fifth of what it takes to
// have /proc look for a descriptor.
func (p *PathRef) path() (string, syscall.Errno) {
	if p.private && unix.Fchdir(p.Dir) == nil {
		var b [unix.PathMax]byte
		if n, err := unix.Getcwd(b[:]); err == nil && n > 1 && b[0] == '/' {
			return string(b[:n-1]), 0
		}
	}
	return pathOf(p.Dir) // also of what was removed, or may not be entered
}

func pathOf(fd int) (string, syscall.Errno) {
	var b [unix.PathMax]byte
	n, err := unix.Readlinkat(procpkg.DirFD, procpkg.FDFile(fd), b[:])
	return string(b[:max(n, 0)]), step.ErrnoOrEIO(err)
}

const (
	procMagic   = 0x9fa0 // PROC_SUPER_MAGIC
	maxSymlinks = 40     // path_resolution(7)
)

// A walker resolves names for one thread of the jail, as the kernel would for it.
// Symlinks that lead through "self" mean that thread, not the supervisor.
type resolver struct {
	tid     int
	private bool // see place
	links   int
	// open opens what only a thread outside of every Landlock domain may: the
	// descriptors and directories of the process that asks.
	open func(dir int, name string) (int, syscall.Errno)
	// process is the number of that process: see supervisor.processOf.
	process func() int
}

// resolve resolves name from base, which it does not close, and closes nothing else.
// base is -1 for names that are absolute.
func (w *resolver) resolve(base int, name string) (PathRef, syscall.Errno) {
	if name == "" {
		return PathRef{Dir: -1}, unix.ENOENT
	}
	trimmed := strings.TrimRight(name, "/")
	tail := name[len(trimmed):]
	if trimmed == "" {
		dir, proc, errno := w.directory(base, "/")
		return PathRef{dir, ".", "", proc, w.private}, errno
	}
	i := strings.LastIndexByte(trimmed, '/')
	dir, proc, errno := w.directory(base, name[:i+1])
	return PathRef{dir, trimmed[i+1:], tail, proc, w.private}, errno
}

// directory opens a directory by its path, and tells whether it is in a proc(5). The
// kernel does it at once, unless the way leads there, where a link can mean whoever
// follows it.
func (w *resolver) directory(base int, name string) (dir int, proc bool, errno syscall.Errno) {
	if name == "" {
		name = "."
	}
	if base < 0 {
		base = unix.AT_FDCWD
		if name[0] != '/' {
			return -1, false, unix.ENOENT
		}
	}
	fd, err := unix.Openat2(base, name, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS,
	})
	if err == nil {
		if !isProcfs(fd) {
			return fd, false, 0
		}
		unix.Close(fd)
	}
	dir, errno = w.step(base, name) // whose error is the right one, too
	return dir, errno == 0 && isProcfs(dir), errno
}

// step is directory, component by component.
func (w *resolver) step(base int, name string) (int, syscall.Errno) {
	cur, err := unix.Openat(base, newResolver(name), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, step.ErrnoOrEIO(err)
	}
	todo := strings.Split(name, "/")
	for len(todo) > 0 {
		c := todo[0]
		todo = todo[1:]
		if c == "" || c == "." {
			continue
		}
		next, errno := w.openComponent(cur, c)
		if errno == unix.ELOOP { // a link that says where to go on
			var target string
			if target, errno = w.link(cur, c); errno == 0 {
				todo = append(strings.Split(target, "/"), todo...)
				if target[0] != '/' {
					continue
				}
				next, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
				errno = step.ErrnoOrEIO(err)
			}
		}
		unix.Close(cur)
		if errno != 0 {
			return -1, errno
		}
		cur = next
	}
	return cur, 0
}

func newResolver(name string) string {
	if name[0] == '/' {
		return "/"
	}
	return "."
}

// openComponent opens one component as a directory. ELOOP is for a symlink whose text
// counts; a magic link, which leads to an object and not to a name, is followed.
func (w *resolver) openComponent(dir int, name string) (int, syscall.Errno) {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, step.ErrnoOrEIO(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, step.ErrnoOrEIO(err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return fd, 0
	case unix.S_IFLNK:
		unix.Close(fd)
		if !w.magic(dir, name) {
			return -1, unix.ELOOP
		}
		return w.followMagicLink(dir, name)
	}
	unix.Close(fd)
	return -1, unix.ENOTDIR
}

// link reads a symlink as the thread that asks would.
func (w *resolver) link(dir int, name string) (string, syscall.Errno) {
	if w.links++; w.links > maxSymlinks {
		return "", unix.ELOOP
	}
	if isProcfs(dir) {
		switch name {
		case "self":
			return strconv.Itoa(w.process()), 0
		case "thread-self":
			var tid int
			sys.OnUnrestrictedThread(func() { tid = procpkg.NSPid(w.tid) })
			return strconv.Itoa(w.process()) + "/task/" + strconv.Itoa(tid), 0
		}
	}
	var b [unix.PathMax]byte
	n, err := unix.Readlinkat(dir, name, b[:])
	if err != nil {
		return "", step.ErrnoOrEIO(err)
	}
	if n == 0 {
		return "", unix.ENOENT
	}
	return string(b[:n]), 0
}

// magic reports whether a symlink is one of those that proc(5) resolves by itself.
func (w *resolver) magic(dir int, name string) bool {
	return isProcfs(dir) && name != "self" && name != "thread-self" && name != "mounts" && name != "net"
}

// followMagicLink opens what a magic link stands for: of the process that asks, and of no
// other. The supervisor may look into more than the server may.
func (w *resolver) followMagicLink(dir int, name string) (int, syscall.Errno) {
	at, errno := pathOf(dir)
	if errno != 0 {
		return -1, errno
	}
	own := "/proc/" + strconv.Itoa(w.process()) + "/"
	if !strings.HasPrefix(at+"/", own) {
		return -1, unix.EACCES
	}
	if w.links++; w.links > maxSymlinks {
		return -1, unix.ELOOP
	}
	return w.open(dir, name)
}

// ofOthers tells a place in /proc that belongs to another process than the one
// that asks. To the supervisor its own are open, which are not the server's to read.
func (w *resolver) ofOthers(at *PathRef) bool {
	if !at.proc {
		return false
	}
	full, errno := at.full()
	if errno != 0 {
		return true
	}
	owner, _, _ := strings.Cut(strings.TrimPrefix(full, "/proc/"), "/")
	pid, err := strconv.Atoi(owner)
	return err == nil && pid != w.process()
}

func isProcfs(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && fs.Type == procMagic
}
