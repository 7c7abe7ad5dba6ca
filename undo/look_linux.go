package undo

import (
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// look returns what is at a name in dir, or, with an empty name, the object of dir itself.
func look(dir int, name string) (state, error) {
	var st unix.Statx_t
	err := unix.Statx(dir, name, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st)
	if isMissing(err) {
		return state{Kind: none}, nil
	}
	if err != nil {
		return state{}, err
	}
	s := state{
		Kind: kindOf(uint32(st.Mode)), Mode: uint32(st.Mode) & 0o7777, UID: st.Uid, GID: st.Gid, Size: int64(st.Size),
		Mtime: nanoseconds(st.Mtime), Ctime: nanoseconds(st.Ctime), Nlink: uint64(st.Nlink),
		ID: id{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino},
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		s.ID.Birth = nanoseconds(st.Btime)
	}
	if s.Kind == link {
		var b [unix.PathMax]byte
		n, err := unix.Readlinkat(dir, name, b[:])
		if err != nil {
			return state{}, err
		}
		s.Target = b[:n:n]
	}
	return s, nil
}

// isMissing reports whether an error says that nothing is at a path. Behind a symbolic link there is nothing
// of what the path was kept for.
func isMissing(err error) bool { return err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP }

func nanoseconds(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

func kindOf(mode uint32) kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return file
	case unix.S_IFDIR:
		return Dir
	case unix.S_IFLNK:
		return link
	}
	return other
}

// openParent opens the directory of a path, through no symbolic link: the paths of a journal have none, so
// one that is there was made since. Without links and "..", it is beneath each root that has the path.
func openParent(path string) (dir int, name string, err error) {
	parent, name := filepath.Split(path)
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || name == "" {
		return -1, "", unix.EINVAL
	}
	dir, err = unix.Openat2(unix.AT_FDCWD, parent, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	return dir, name, err
}

// reader opens objects to read them. The server may have closed them to their own user.
type reader struct {
	self    int          // /proc/self/fd
	outside func(func()) // runs a function on a thread that may read more; may be nil
}

// object opens what is at a name, without following it. With fd -1 and no error nothing is there.
func (r reader) object(dir int, name string) (fd int, err error) {
	fd, err = unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if isMissing(err) {
		return -1, nil
	}
	return fd, err
}

// open opens an object, that is held by an O_PATH descriptor, for reading. If its mode denies its owner
// that, it has the right for the moment. A file with set-id bits stays as it is: a server that writes
// it meanwhile takes them away, and they must not come back.
func (r reader) open(object int, st *state) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC
	name := strconv.Itoa(object)
	var fd int
	var err error
	try := func() {
		if fd, err = unix.Openat(r.self, name, flags|unix.O_NOATIME, 0); err == unix.EPERM { // another user's
			fd, err = unix.Openat(r.self, name, flags, 0)
		}
	}
	try()
	if err == unix.EACCES && r.outside != nil {
		r.outside(try)
	}
	if err == unix.EACCES && int(st.UID) == unix.Geteuid() && st.Mode&0o400 == 0 && st.Mode&setID == 0 {
		if unix.Fchmodat(r.self, name, st.Mode|0o400, 0) == nil {
			try()
			unix.Fchmodat(r.self, name, st.Mode, 0)
			st.Ctime = 0
		}
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// lists are the access lists that an object may have; only directories have a default one.
var lists = []string{"system.posix_acl_access", "system.posix_acl_default"}

// hasACL reports whether an open object has an access list.
func hasACL(f *os.File) bool {
	return slices.ContainsFunc(lists, func(list string) bool {
		n, err := unix.Fgetxattr(int(f.Fd()), list, nil)
		return err == nil && n > 0
	})
}

// state returns what is at a name, with the digest of a file of at most most bytes.
func (r reader) state(dir int, name string, most int64) (state, error) {
	object, err := r.object(dir, name)
	if err != nil || object < 0 {
		return state{Kind: none}, err
	}
	defer unix.Close(object)
	st, err := look(object, "")
	if err != nil || st.Kind != file || st.Size > most {
		return st, err
	}
	f, err := r.open(object, &st)
	if err != nil {
		return look(object, "") // its stamp must do
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, most)); err != nil {
		return st, err
	}
	if st, err = look(object, ""); err == nil {
		st.Sum = h.Sum(nil)
	}
	return st, err
}

// at is state for a path.
func (r reader) at(path string, most int64) (state, error) {
	dir, name, err := openParent(path)
	if isMissing(err) {
		return state{Kind: none}, nil
	}
	if err != nil {
		return state{}, err
	}
	defer unix.Close(dir)
	return r.state(dir, name, most)
}

// selfFD opens /proc/self/fd once, for a process that is not jailed.
var selfFD = sync.OnceValues(func() (int, error) {
	return unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
})
