package undo

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// smallDisk is a small filesystem that the model fills. If the user cannot mount one, it is a directory.
type smallDisk struct {
	dir   string
	small bool
	fine  bool
}

// leave fills the disk but for free bytes. With -1 it makes room.
func (d *smallDisk) leave(free int64) {
	filler := filepath.Join(d.dir, "filler")
	os.Remove(filler)
	var st unix.Statfs_t
	if free < 0 || unix.Statfs(d.dir, &st) != nil {
		return
	}
	if size := int64(st.Bavail)*st.Bsize - free; size > 0 {
		os.WriteFile(filler, make([]byte, size), 0o600)
	}
}

// tick waits until the clock of inodes has gone on.
func tick() {
	var was, now unix.Timespec
	unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &was)
	for now = was; now == was; unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) {
		time.Sleep(time.Millisecond)
	}
}

// tick waits until a change gives an inode another time than the changes so far. Where the kernel
// gives an inode that was looked at a finer time, nothing must be waited for.
func (d *smallDisk) tick() {
	if !d.fine {
		tick()
	}
}

// hasFineTimes reports whether the kernel does so.
func (d *smallDisk) hasFineTimes() bool {
	var was unix.Timespec
	for range 20 {
		var st unix.Stat_t
		unix.Chmod(d.dir, 0o700)
		if unix.Stat(d.dir, &st) != nil || st.Ctim == was {
			return false
		}
		was = st.Ctim
	}
	return true
}

func newSmallDisk(t *testing.T) *smallDisk {
	d := &smallDisk{dir: t.TempDir(), small: os.Geteuid() == 0}
	if d.small {
		runtime.LockOSThread() // the thread ends with the test, and its mounts with it
		testkit.Must(t, errors.Join(unix.Unshare(unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")))
	}
	return d
}

// mount begins with an empty disk. A check then finds the same inode numbers each time, so the
// journals become as long as before, and the disk is full at the same moment.
func (d *smallDisk) mount() (err error) {
	if d.small {
		err = unix.Mount("tmpfs", d.dir, "tmpfs", 0, "size=4m")
	}
	d.fine = d.hasFineTimes()
	return err
}

func (d *smallDisk) unmount() {
	if d.small {
		unix.Unmount(d.dir, unix.MNT_DETACH)
	}
}
