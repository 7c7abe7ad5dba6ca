package confine

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/supervisor"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// RunSupervisor returns at once unless a launcher started this process, as the supervisor of a
// jail. Then it does the supervisor's work and never returns. Call it first thing in main.
func RunSupervisor() { supervisor.Main() }

// CanPoll returns an error if Go's runtime cannot have its poller. Without this check it
// would end the program with a dump of goroutines. Call it before the first file is opened.
func CanPoll() error { return sys.CheckPoller() }
