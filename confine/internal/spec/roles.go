package spec

// SupervisorName is argv[0] of the supervisor. It executes the launcher's program, which
// recognizes its role by this name.
const SupervisorName = "mcp-jail: supervisor"

// Descriptors of a supervisor that starts the server itself, besides the server's three.
const (
	SpecFD   = 3 // a socket: the Spec, then signals for the program, one byte each
	EventsFD = 4 // events for the launcher; the server does not inherit it
)

// MaxProcs is GOMAXPROCS of the supervisor. Three of its threads may each
// occupy a processor of Go's scheduler while they wait briefly: the builder for the exec, and
// the receiver and a worker of mediated calls for the next request.
const MaxProcs = 3
