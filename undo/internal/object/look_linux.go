package object

import (
	"errors"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Look returns what is at a name in dir, or, with an empty name, the object of dir itself. It
// follows no symbolic link.
func Look(dir int, name string) (State, error) {
	var st unix.Statx_t
	err := unix.Statx(dir, name, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st)
	if err == unix.ENOENT || err == unix.ENOTDIR {
		return State{Kind: None, Data: NoData}, nil
	}
	if err != nil {
		return State{}, err
	}
	s := State{
		Kind: KindOf(uint32(st.Mode)), Mode: uint32(st.Mode) & 0o7777, UID: st.Uid, GID: st.Gid, Size: int64(st.Size),
		Mtime: nanoseconds(st.Mtime), Ctime: nanoseconds(st.Ctime), Nlink: uint64(st.Nlink), Data: NoData,
		ID: ID{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino},
	}
	// Without a birth time, a reused inode number looks like the same object.
	if st.Mask&unix.STATX_BTIME != 0 {
		s.ID.Birth = nanoseconds(st.Btime)
	}
	if s.Kind == Link {
		var b [unix.PathMax]byte
		n, err := unix.Readlinkat(dir, name, b[:])
		if err != nil {
			return State{}, err
		}
		s.Target = string(b[:n])
	}
	return s, nil
}

func nanoseconds(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

func KindOf(mode uint32) Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return File
	case unix.S_IFDIR:
		return Dir
	case unix.S_IFLNK:
		return Link
	}
	return Other
}

// OpenPath opens the object at an absolute path with O_PATH. No component may be a symbolic
// link: the paths of a journal are canonical, and a link there was made since.
func OpenPath(path string, flags uint64) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC | flags, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// LookPath returns what is at an absolute path.
func LookPath(path string) (State, error) {
	dir, base, err := openParent(path)
	if err == unix.ENOENT || err == unix.ENOTDIR {
		return State{Kind: None, Data: NoData}, nil
	}
	if err != nil {
		return State{}, err
	}
	defer unix.Close(dir)
	return Look(dir, base)
}

func openParent(path string) (dir int, base string, err error) {
	parent, base := filepath.Split(path)
	if base == "" || base == "." || base == ".." || !filepath.IsAbs(path) {
		return -1, "", unix.EINVAL
	}
	dir, err = OpenPath(parent, unix.O_DIRECTORY)
	return dir, base, err
}

// ErrChanged is the error of a step whose path was changed between the review and the step.
var ErrChanged = errors.New("it was changed a moment ago")

// Place is a path whose directory is held open. All calls go through the descriptor.
type Place struct {
	Dir  int
	Name string
	Temp string // the name of a temporary file beside it
}

// OpenPlace opens the directory of a path without following a link.
func OpenPlace(path string) (*Place, error) {
	dir, name, err := openParent(path)
	if err != nil {
		return nil, err
	}
	return &Place{Dir: dir, Name: name}, nil
}

func (p *Place) Close() { unix.Close(p.Dir) }

// Clear removes the temporary file.
func (p *Place) Clear() {
	if unix.Unlinkat(p.Dir, p.Temp, 0) == unix.EISDIR {
		unix.Unlinkat(p.Dir, p.Temp, unix.AT_REMOVEDIR)
	}
}

// TempOf returns the path of the temporary file beside a path.
func (p *Place) TempOf(path string) string { return filepath.Join(filepath.Dir(path), p.Temp) }

// OnObject calls f with a name of the object at the place that no rename can redirect, and with its
// state. The object is no symbolic link.
func (p *Place) OnObject(f func(name string, now State) error) error {
	fd, err := unix.Openat(p.Dir, p.Name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	now, err := Look(fd, "")
	if err != nil {
		return err
	}
	if now.Kind == Link {
		return ErrChanged
	}
	return f("/proc/self/fd/"+strconv.Itoa(fd), now)
}

// PathError explains why a path cannot be opened.
func PathError(err error) string {
	if err == unix.ELOOP {
		return "a directory of its path is a symbolic link now, which undo does not follow"
	}
	return err.Error()
}
