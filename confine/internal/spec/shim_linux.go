package spec

// shimName is the shim's argv[0]; nothing else tells it from the program that
// it is a copy of.
const ShimName = "mcp-jail: init"

// Descriptors of the shim beyond the server's three.
const (
	OrderFD  = 3 // the order, and after it signals for the program, a byte each
	StatusFD = 4 // messages to the launcher; never seen by the server
)

// argSupervise is the last argument of a supervisor.
const ArgSupervise = "supervise"
