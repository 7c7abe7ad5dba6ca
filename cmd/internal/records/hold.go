package records

import (
	"errors"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
)

// hold takes a shared lock on the directory of a server until the process ends, so that no
// mcp-jail rm removes the directory during a session. release ends that earlier.
func (d Dir) hold() (release func()) {
	if release, ok := d.lock(private.Shared); ok {
		return release
	}
	return func() {}
}

// Lock takes an exclusive lock on the directory of a server. ok is false if a session has the
// directory. The caller calls unlock.
func (d Dir) Lock() (unlock func(), ok bool) { return d.lock(private.Exclusive) }

// lock tries to take a lock, for some milliseconds: Running in another process takes it for a
// moment. Where there are no locks, every lock is free.
func (d Dir) lock(kind private.Kind) (unlock func(), ok bool) {
	for try := 0; ; try++ {
		unlock, err := d.Dir.Lock(kind)
		switch {
		case err == nil:
			return unlock, true
		case !errors.Is(err, private.ErrLocked):
			return func() {}, true
		case try == 3:
			return nil, false
		}
		time.Sleep(time.Millisecond)
	}
}
