package mediator

import (
	"path"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/journal"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// pathRef is an open parent directory and a name in it: the result of a path walk before the
// last component is looked up (nd->path and nd->last in the kernel).
type pathRef struct {
	dir    int    // O_PATH; closed by close
	name   string // one component, "." or ".."
	tail   string // the trailing slashes
	inProc bool   // dir is on a proc(5)
}

func (p *pathRef) close() {
	if p.dir >= 0 {
		unix.Close(p.dir)
		p.dir = -1
	}
}

// special reports whether the name is "." or "..", which no call can create or remove.
func (p *pathRef) special() bool { return p.name == "." || p.name == ".." }

func (p *pathRef) full() (string, syscall.Errno) {
	dir, errno := pathOf(p.dir)
	switch {
	case errno != 0:
		return "", errno
	case p.special():
		return path.Join(dir, p.name), 0
	case dir == "/":
		return "/" + p.name, 0
	}
	return dir + "/" + p.name, 0
}

// withPath returns the reference as the journal takes it.
func (p *pathRef) withPath(full string) journal.At {
	return journal.At{Dir: p.dir, Name: p.name, Full: full}
}

// pathOf returns the path of an open object, also of a directory that is removed or may not be entered.
func pathOf(fd int) (string, syscall.Errno) {
	var b [unix.PathMax]byte
	n, err := unix.Readlinkat(sys.DirFD, sys.FDFile(fd), b[:])
	return string(b[:max(n, 0)]), sys.ErrnoOrEIO(err)
}

const (
	procMagic   = 0x9fa0 // PROC_SUPER_MAGIC
	maxSymlinks = 40     // path_resolution(7)
)

// resolver resolves names as the kernel would for one thread of the jail. In /proc, "self"
// means the process of that thread, not the supervisor.
type resolver struct {
	tid   int
	links int // symlinks followed so far
	// open opens the target of a magic link: a descriptor or a directory of the calling
	// process. Only a thread outside every Landlock domain may do that.
	open func(dir int, name string) (int, syscall.Errno)
	// process returns the ID of the calling process: see Mediator.processOf.
	process func() int
}

// resolve resolves all components of name but the last. A relative name begins at base, which
// stays open. base is -1 for absolute names. The caller closes the result, also after an error.
func (w *resolver) resolve(base int, name string) (pathRef, syscall.Errno) {
	if name == "" {
		return pathRef{dir: -1}, unix.ENOENT
	}
	trimmed := strings.TrimRight(name, "/")
	tail := name[len(trimmed):]
	if trimmed == "" {
		dir, inProc, errno := w.directory(base, "/")
		return pathRef{dir, ".", "", inProc}, errno
	}
	i := strings.LastIndexByte(trimmed, '/')
	dir, inProc, errno := w.directory(base, name[:i+1])
	return pathRef{dir, trimmed[i+1:], tail, inProc}, errno
}

// directory opens a directory, and reports whether it is on a proc(5). One openat2 does it
// unless the path leads into /proc, where links depend on the process that follows them. Then
// walk goes component by component.
func (w *resolver) directory(base int, name string) (dir int, inProc bool, errno syscall.Errno) {
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
	dir, errno = w.walk(base, name) // its errno is the one that the caller would get
	return dir, errno == 0 && isProcfs(dir), errno
}

func (w *resolver) walk(base int, name string) (int, syscall.Errno) {
	cur, err := unix.Openat(base, startDir(name), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, sys.ErrnoOrEIO(err)
	}
	todo := strings.Split(name, "/")
	for len(todo) > 0 {
		c := todo[0]
		todo = todo[1:]
		if c == "" || c == "." {
			continue
		}
		next, errno := w.openComponent(cur, c)
		if errno == unix.ELOOP { // a symlink
			var target string
			if target, errno = w.link(cur, c); errno == 0 {
				todo = append(strings.Split(target, "/"), todo...)
				if target[0] != '/' {
					continue
				}
				next, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
				errno = sys.ErrnoOrEIO(err)
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

func startDir(name string) string {
	if name[0] == '/' {
		return "/"
	}
	return "."
}

// openComponent opens one component as a directory. It returns ELOOP for a symlink. It follows
// a magic link, which leads to an object and not to a name.
func (w *resolver) openComponent(dir int, name string) (int, syscall.Errno) {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, sys.ErrnoOrEIO(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, sys.ErrnoOrEIO(err)
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
			sys.OnUnrestrictedThread(func() { tid = sys.NSPid(w.tid) })
			return strconv.Itoa(w.process()) + "/task/" + strconv.Itoa(tid), 0
		}
	}
	var b [unix.PathMax]byte
	n, err := unix.Readlinkat(dir, name, b[:])
	if err != nil {
		return "", sys.ErrnoOrEIO(err)
	}
	if n == 0 {
		return "", unix.ENOENT
	}
	return string(b[:n]), 0
}

func (w *resolver) magic(dir int, name string) bool {
	return isProcfs(dir) && name != "self" && name != "thread-self" && name != "mounts" && name != "net"
}

// followMagicLink opens the target of a magic link of the calling process. It refuses the
// links of other processes, because the supervisor may follow more of them than the server.
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

// inOtherProcess reports whether a reference is in the /proc directory of a process that is
// not the caller. The supervisor could open its own files there, the server must not.
func (w *resolver) inOtherProcess(at *pathRef) bool {
	if !at.inProc {
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

// recorded returns the full path for a record. The directory of a mask is removed, and still at its path.
func (at *pathRef) recorded() (string, syscall.Errno) {
	full, errno := at.full()
	var st unix.Stat_t
	if dir, removed := strings.CutSuffix(path.Dir(full), " (deleted)"); errno == 0 && removed && unix.Fstat(at.dir, &st) == nil && st.Nlink == 0 {
		return path.Join(dir, at.name), 0
	}
	return full, errno
}

// advance replaces a reference to a symlink by a reference to its target, and returns -1. For
// a magic link it returns its target instead.
func (w *resolver) advance(at *pathRef) (object int, errno syscall.Errno) {
	if w.magic(at.dir, at.name) {
		return w.followMagicLink(at.dir, at.name)
	}
	target, errno := w.link(at.dir, at.name)
	if errno != 0 {
		return -1, errno
	}
	next, errno := w.resolve(at.dir, target)
	if errno != 0 {
		next.close()
		return -1, errno
	}
	next.tail += at.tail
	at.close()
	*at = next
	return -1, 0
}

func (w *resolver) object(at *pathRef) (int, syscall.Errno) {
	for range maxSymlinks + 1 {
		fd, err := unix.Openat(at.dir, at.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, sys.ErrnoOrEIO(err)
		}
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		kind := st.Mode & unix.S_IFMT
		if err == nil && kind != unix.S_IFLNK {
			if at.tail == "" || kind == unix.S_IFDIR {
				return fd, 0
			}
			err = unix.ENOTDIR
		}
		unix.Close(fd)
		if err != nil {
			return -1, sys.ErrnoOrEIO(err)
		}
		if object, errno := w.advance(at); errno != 0 || object >= 0 {
			return object, errno
		}
	}
	return -1, unix.ELOOP
}

func (w *resolver) openObject(from *pathRef, follow bool) (int, syscall.Errno) {
	if follow {
		return w.object(from)
	}
	flags := unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if from.tail != "" {
		flags |= unix.O_DIRECTORY
	}
	fd, err := unix.Openat(from.dir, from.name, flags, 0)
	return fd, sys.ErrnoOrEIO(err)
}

func openOutside(dir int, name string) (fd int, errno syscall.Errno) {
	sys.OnUnrestrictedThread(func() {
		var err error
		fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC, 0)
		errno = sys.ErrnoOrEIO(err)
	})
	return fd, errno
}
