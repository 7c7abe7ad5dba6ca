//go:build !linux

package confine

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/policy"
)

// The systems of this file have one kind of jail: a first start finds out nothing about it.

func (l Launcher) probeHomeCopy(*policy.Profile) *kernel.Feature { return nil }

// CanPoll does nothing here: nothing is known to refuse a poller.
func CanPoll() error { return nil }

// HostListens knows nothing: this system does not tell.
func HostListens(string, int) (listens, known bool) { return false, false }

// StaleSocket returns false: this system does not tell.
func StaleSocket(string) bool { return false }

// A starter has nothing here: a start makes no process before it has its plan.
type starter struct{}

func (l Launcher) spawn(bool) *starter { return nil }

func (*starter) cancel() {}
