//go:build unix

package ownfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags keep a fifo from blocking the open, and a link that has just appeared from being
// followed.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_NOFOLLOW

// self returns the user to whom new files belong.
func self() int { return os.Geteuid() }

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

func hardLinks(info fs.FileInfo) uint64 { return uint64(info.Sys().(*syscall.Stat_t).Nlink) }

// hasList reports whether a file has a POSIX access list.
func hasList(file *os.File) bool {
	n, err := unix.Fgetxattr(int(file.Fd()), "system.posix_acl_access", nil)
	return err == nil && n > 0
}

func keepGroup(file *os.File, old fs.FileInfo) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	gid := old.Sys().(*syscall.Stat_t).Gid
	if info.Sys().(*syscall.Stat_t).Gid == gid {
		return nil
	}
	return errors.Unwrap(file.Chown(-1, int(gid)))
}

// lockFile takes the lock of a file, or returns errBusy. On a filesystem without locks, it takes
// none and returns no error.
func lockFile(name string) (unlock func(), err error) {
	file, err := os.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	if errors.Is(syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		file.Close()
		return nil, errBusy
	}
	return func() { file.Close() }, nil
}

// syncDir makes a rename in a directory survive a loss of power. It ignores errors: some
// filesystems cannot do that for a directory.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}
