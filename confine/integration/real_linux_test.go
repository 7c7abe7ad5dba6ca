//go:build !seatbelt

package integration

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
)

func onlySeatbelt() {}

func standIns() {}

func confineTLS(testing.TB) {}

// ownTemp is the TMPDIR of a server.
const ownTemp = "/tmp"

// parts are the processes of a start, each the parent of the next.
var parts = []string{"launcher", "supervisor", "init", "server"}

// temporary lists directories that starts make outside of their jails: none.
func temporary() []string { return nil }

// refused returns the answer to an attempt that a jail refuses with errno.
func refused(errno attacker.Outcome) attacker.Outcome { return errno }
