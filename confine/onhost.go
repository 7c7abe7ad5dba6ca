package confine

import (
	"os"
	"path"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// isOnHost reports whether the jail, and not the host, lacks what a call needs. It returns false if that cannot be
// found out soon.
func isOnHost(m spec.Event) bool { return withTimeout(func() bool { return onHost(m) }) }

// onHost reports whether the jail, and not the host, lacks what a call needs: for a connect the
// name itself, for an open that only reads what the name leads to, and for every other call the
// directory of the name. The server chooses the name.
func onHost(m spec.Event) bool {
	var err error
	switch m.Detail {
	case "connect":
		_, err = os.Lstat(m.Target)
	case policy.OpRead.String():
		_, err = os.Stat(m.Target)
	default:
		_, err = os.Lstat(path.Dir(m.Target))
	}
	return err == nil
}

// pendingLookups counts lookups that have not returned. Each of them keeps a thread.
var pendingLookups atomic.Int32

const maxPendingLookups = 8

// lookupTimeout bounds a lookup. It is a variable for tests on a busy machine.
var lookupTimeout = 200 * time.Millisecond

// withTimeout returns the result of f. It returns false if f takes long, or if maxPendingLookups
// lookups are pending. A name can lead to a network filesystem whose server is gone, and the
// events of the supervisor wait for the answer.
func withTimeout(f func() bool) bool {
	if pendingLookups.Load() >= maxPendingLookups {
		return false
	}
	answer := make(chan bool, 1)
	pendingLookups.Add(1)
	go func() {
		defer pendingLookups.Add(-1)
		answer <- f()
	}()
	select {
	case a := <-answer:
		return a
	case <-time.After(lookupTimeout):
		return false
	}
}
