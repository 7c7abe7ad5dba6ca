//go:build darwin || (linux && seatbelt)

package confine

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/attempt"
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A start by sandbox-exec has one kind of jail, and nothing of it is found out by a first try.
func refusedNamespaces(err error) (features.Feature, error) { return features.Feature{}, err }

func (l Launcher) probeOverlays(*policy.Profile) map[string]features.Feature { return nil }

func cachedOverlays(*policy.Profile) map[string]features.Feature { return nil }

func overlayRefused(*policy.Profile, error) bool { return false }

// RunSupervisor does the work of a jail's supervisor, or of the first program inside, and never
// returns if this process was started as one. Otherwise it returns at once. Call it first thing in
// main.
func RunSupervisor() {
	attempt.Serve() // the self-test
	sandboxexec.Main()
}

// CanPoll does nothing here: nothing is known to refuse a poller.
func CanPoll() error { return nil }

// HostListens returns nil: this system does not tell.
func HostListens() func(host string, port int) bool { return nil }
