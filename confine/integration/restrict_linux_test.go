package integration

import (
	"runtime"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/probe/probetest"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"golang.org/x/sys/unix"
)

// TestFreshKeyring: the session keyring that the server has is not its user's. That it
// cannot use that one either is the filter's doing.
func TestFreshKeyring(t *testing.T) {
	probetest.Needs(t, "seccomp")
	var ids [3]int
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and the thread ends with it
		var err error
		for i := range ids {
			if i == 2 && err == nil {
				err = jail.FreshKeyring(&stub.Task{})
			}
			if err == nil {
				ids[i], err = sessionKeyring()
			}
		}
		done <- err
	}()
	err := <-done
	if err == unix.EPERM || err == unix.ENOSYS {
		t.Logf("there is a filter around us: %v", err)
		return
	}
	if err != nil || ids[0] != ids[1] || ids[1] == ids[2] {
		t.Errorf("%v, %v: the first two are to be one keyring, and the last another", ids, err)
	}
}
