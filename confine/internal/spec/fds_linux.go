package spec

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
)

// Descriptors that the stub inherits.
const (
	ControlFD    = stub.LifeFD // a socket: first it passes descriptors, later signals
	ProgramFD    = 5           // the stub's own program
	StubEventsFD = 6           // a socket: the supervisor's Spec, and its events
	StubExeFD    = 7           // the supervisor's program
)

// InitName is argv[0] of the stub's processes, one of which is the init of a jail with
// namespaces.
const InitName = "mcp-jail: init"

// ArgSupervise is the last argument of the supervisor of a jail with namespaces. The outer
// process executes it when the jail needs a supervisor. So the supervisor is the first
// process of the outer PID namespace: the server cannot see it, and the kernel ends the jail with it.
const ArgSupervise = "supervise"

// Further descriptors of the supervisor of a jail with namespaces. There SpecFD carries signals,
// and RequestSocket with the sockets that answer it. EventsFD is a socket that carries the Spec
// as well.
const (
	ListenerFD = EventsFD + 1 + iota // the seccomp listener of the server's filter, if there is one
	RulesetFD                        // the Landlock ruleset of the supervisor's workers
	ServerFD                         // a pidfd of the server, for signals
	ProcFD                           // a proc filesystem that shows the supervisor and the jail
	ExeFD                            // the supervisor's program
)
