package records

import (
	"errors"
	"fmt"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// patience is how often a start tries to take the lock of a directory: for two seconds.
const patience = 400

// hold takes a shared lock on the directory of a server until the process ends, so that no
// `status --remove` removes the directory during a session.
func (d Dir) hold() { d.lock(private.Shared, patience) }

// Lock takes an exclusive lock on the directory of a server. ok is false if a session has the
// directory. The caller calls unlock.
func (d Dir) Lock() (unlock func(), ok bool) { return d.lock(private.Exclusive, 2) }

// lock is wait. Where there are no locks, every lock is free.
func (d Dir) lock(kind private.Kind, tries int) (unlock func(), ok bool) {
	unlock, err := d.wait(kind, tries)
	if err != nil {
		unlock = func() {}
	}
	return unlock, !errors.Is(err, private.ErrLocked)
}

// wait tries to take a lock, with 5 ms between two tries: Running in another process takes it for a
// moment, and a client ends the server whose line it has changed at the time when it starts the new one.
func (d Dir) wait(kind private.Kind, tries int) (unlock func(), err error) {
	for try := 1; ; try++ {
		unlock, err = d.Dir.Lock(kind)
		if !errors.Is(err, private.ErrLocked) || try >= tries {
			return unlock, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TakeHome makes the directory of a server, and holds it until the process ends.
func TakeHome(host hostfs.Host, name string) error {
	d, err := makeDir(host, name)
	if err != nil {
		return err
	}
	defer d.Close()
	if _, held := d.lock(private.Shared, patience); !held {
		return fmt.Errorf("the private HOME and records of the server %s are being removed; start it again when that has ended", show.Name(name))
	}
	return nil
}
