package spec

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
)

// Descriptors that the stub begins with.
const (
	ControlFD = stub.LifeFD // a socket by which descriptors pass, and signals afterwards
	ProgramFD = 5           // what the stub was executed from
	WordsFD   = 6           // the supervisor's order, and its messages
	SelfFD    = 7           // the supervisor's program
)
