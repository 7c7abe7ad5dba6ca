package confine

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/supervisor"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// RunSupervisor does the work of a jail's supervisor and never returns if a launcher started this
// process as one. Otherwise it returns at once. Call it first thing in main.
func RunSupervisor() { supervisor.Main() }

// CanPoll returns an error if Go's runtime cannot set up its poller. The runtime itself would end
// the program with a dump of goroutines. Call CanPoll before the first file is opened.
func CanPoll() error { return sys.CheckPoller() }

// SessionSecrets returns nil: a jail adds no secret to those of its policy.
func SessionSecrets() []policy.Variable { return nil }
