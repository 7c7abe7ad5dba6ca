package confine

import (
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/egress"
)

// Notice is a message of a jail about itself. Its server continues to run.
type Notice struct {
	Text    string
	Warning bool  // something that was granted does not work; false: for the log only
	Leak    *Leak // if it is set, the other fields are not
}

// Leak is a secret in a request of the server that was sent on to a host.
type Leak = egress.Leak

// Exit is how a program ended.
type Exit struct {
	Code   int            // exit status; 128+n after signal n
	Signal syscall.Signal // 0 unless a signal ended it
	Why    string         // why the jail could not be enforced any longer, if that ended the program; else ""
}
