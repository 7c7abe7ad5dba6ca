package records

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// watch tells of changes in directories. If the kernel has no room for another inotify(7) instance, it
// tells of none, and its callers look from time to time.
type watch struct {
	changed chan struct{} // gets a value after a change
	events  *os.File      // nil: there is none
}

func newWatch() *watch {
	w := &watch{changed: make(chan struct{}, 1)}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return w
	}
	w.events = os.NewFile(uintptr(fd), "inotify")
	go w.read()
	return w
}

// read ends when the file is closed.
func (w *watch) read() {
	var events [4096]byte
	for {
		if _, err := w.events.Read(events[:]); err != nil {
			return
		}
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
}

// add watches a directory, if there is one. A directory is watched once, however often it is added.
func (w *watch) add(dir string) {
	if w.events == nil {
		return
	}
	conn, err := w.events.SyscallConn()
	if err == nil {
		conn.Control(func(fd uintptr) {
			unix.InotifyAddWatch(int(fd), dir, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_MODIFY|unix.IN_ONLYDIR)
		})
	}
}

// pause returns how long to wait for a change before the next look.
func (w *watch) pause() time.Duration {
	if w.events == nil {
		return pollPause
	}
	return 10 * pollPause
}

func (w *watch) close() {
	if w.events != nil {
		w.events.Close()
	}
}
