package tlsworker

// The command line of a client of a proxy is Name, ClientCommand and the name of the proxy. Its
// descriptors are a connection to the proxy, one for what is inside the TLS, and a socket on which it
// reports one line: Connected, or Failed and a reason.
const (
	ClientCommand = "client"
	ProxyFD       = 3
	InsideFD      = 4
	StatusFD      = 5
	Connected     = "connected"
	Failed        = "failed: "
)
