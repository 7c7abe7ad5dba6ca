package records

import (
	"errors"
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// restartFile has the time at which the user asked last that the server be started again in the sessions that run.
const restartFile = "restart"

// AskRestart asks the sessions of a server that run now to start it again.
func AskRestart(host hostfs.Host, server string) error {
	d, err := makeDir(host, server)
	if err != nil {
		return err
	}
	defer d.Close()
	f, err := d.OpenFile(restartFile, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), d.Touch(restartFile, time.Now()))
}

// RestartAsked returns when that was asked last, or the zero time.
func RestartAsked(host hostfs.Host, server string) (at time.Time) {
	d, err := Open(host, server)
	if err != nil {
		return at
	}
	defer d.Close()
	if info, err := d.Lstat(restartFile); err == nil {
		at = info.ModTime()
	}
	return at
}
