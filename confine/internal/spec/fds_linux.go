package spec

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
)

// Descriptors that the stub begins with.
const (
	ControlFD    = stub.LifeFD // a socket by which descriptors pass, and signals afterwards
	ProgramFD    = 5           // what the stub was executed from
	StubEventsFD = 6           // the supervisor's order, and its messages
	StubExeFD    = 7           // the supervisor's program
)

// shimName is the shim's argv[0]; nothing else tells it from the program that
// it is a copy of.
const SupervisorName = "mcp-jail: init"

// Descriptors of the shim beyond the server's three.
const (
	SpecFD   = 3 // the order, and after it signals for the program, a byte each
	EventsFD = 4 // messages to the launcher; never seen by the server
)

// argSupervise is the last argument of a supervisor.
const ArgSupervise = "supervise"

// The supervisor of a jail with namespaces is executed when it is needed (see
// jailBuilder.relieveOuter), as the first process of the outer PID namespace: with it ends
// the jail. The server cannot see it.

// Descriptors of a supervisor. orderFD is for signals, statusFD for its order as well.
const (
	ListenerFD = EventsFD + 1 + iota // of the server's filter, where it has one
	RulesetFD                        // the ruleset of its workers
	ServerFD                         // of the server, for signals
	ProcFD                           // a proc that shows it and the jail, its working directory
	ExeFD                            // what it was executed from
)
