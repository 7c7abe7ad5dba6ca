package keeper

import (
	"fmt"
	"os"
	"strconv"

	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"golang.org/x/sys/unix"
)

// maxTree bounds the names below a directory that is moved, each of which gets a record.
const maxTree = 20000

// tree records what is below a directory that is about to move, and returns the rest of
// each path after that of the directory. The contents stay where they are: the records name
// the inodes.
func (k *Keeper) tree(dir int, name, path string) (below []string) {
	left := maxTree
	below = k.walk(dir, name, path, "", &left, nil)
	k.flush()
	if left < 0 {
		k.missing(path, fmt.Sprintf("this directory was moved, and of the names below it only the first %d were recorded", maxTree))
	}
	return below
}

func (k *Keeper) walk(dir int, name, path, rest string, left *int, out []string) []string {
	fd, lock, err := k.opener.dir(dir, name)
	if err != nil {
		k.missing(path+rest, "it was moved, and the names below it are not known: "+err.Error())
		return out
	}
	defer lock()
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		k.missing(path+rest, "it was moved, and not all of the names below it are known: "+err.Error())
	}
	for _, child := range names {
		// A negative rest tells the caller that names are missing.
		if *left--; *left < 0 {
			return out
		}
		st, err := object.Look(fd, child)
		if err != nil {
			k.missing(path+rest+"/"+child, "it was moved, and cannot be looked at: "+err.Error())
		}
		if err != nil || st.Kind == object.None {
			continue
		}
		below := rest + "/" + child
		if k.full(path + below) {
			return out
		}
		out = append(out, below)
		m, foreign := k.marked(path+below, &st)
		if st.Kind == object.Dir && (!m.kept || foreign) {
			st.Masked = k.opener.maskedDir(fd, child)
		}
		k.add(path+below, m, foreign, st)
		m.addCandidate(st)
		if st.Kind == object.Dir {
			out = k.walk(fd, child, path, below, left, out)
		}
	}
	return out
}

// opener opens what the server may have closed to its own user.
type opener struct {
	self    int          // Keeper.SelfFD
	outside func(func()) // Keeper.Outside
}

// open calls the function open. If the calling thread may not open the object, it calls it again by
// outside.
func (o opener) open(open func() (int, error)) (fd int, err error) {
	fd, err = open()
	if err == unix.EACCES && o.outside != nil {
		o.outside(func() { fd, err = open() })
	}
	return fd, err
}

// dir opens a directory to list it. If its mode denies its owner that right, unlock gives the
// right until lock is called.
func (o opener) dir(dir int, name string) (fd int, lock func(), err error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	path, err := unix.Openat(dir, name, unix.O_PATH|flags, 0)
	if err != nil {
		return -1, nil, err
	}
	defer unix.Close(path)
	lock = o.unlock(path, 0o500)
	fd, err = o.open(func() (int, error) { return unix.Openat(path, ".", unix.O_RDONLY|flags, 0) })
	if err != nil {
		lock()
		return -1, nil, err
	}
	return fd, lock, nil
}

// unlock gives the owner of an open object rights to it that he lacks, until lock is called. If the
// object is another user's, it does nothing. Nor does it if the object is a file with set-id bits: a
// server that writes the file meanwhile takes these away, and lock would set them again.
func (o opener) unlock(fd int, rights uint32) (lock func()) {
	nothing := func() {}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&rights == rights || int(st.Uid) != unix.Geteuid() || object.KindOf(st.Mode) == object.File && st.Mode&object.SetID != 0 {
		return nothing
	}
	// fd may be closed before lock is called.
	object, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nothing
	}
	name := strconv.Itoa(object)
	unix.Fchmodat(o.self, name, st.Mode&0o7777|rights, 0)
	return func() {
		unix.Fchmodat(o.self, name, st.Mode&0o7777, 0)
		unix.Close(object)
	}
}

func (o opener) maskedDir(dir int, name string) uint32 {
	fd, lock, err := o.dir(dir, name)
	if err != nil {
		return 0
	}
	defer lock()
	defer unix.Close(fd)
	return object.MaskedBy(fd)
}
