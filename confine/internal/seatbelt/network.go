package seatbelt

import "fmt"

// network returns the text of what is granted of the network. Without hosts and without sockets it is
// nothing: each call fails.
func network(in Input) string {
	out := ""
	if in.ProxyPort != 0 || in.Inbound {
		out += `(allow system-socket
  (require-all (socket-domain AF_INET) (socket-type SOCK_STREAM))
  (require-all (socket-domain AF_INET6) (socket-type SOCK_STREAM)))
`
	}
	if in.ProxyPort != 0 {
		// A filter (local ip ...) here would match every connection.
		out += fmt.Sprintf("; hosts, by the session's own proxy only; Go and Swift ask trustd about certificates\n"+
			"(allow network-outbound (remote ip \"localhost:%d\"))\n"+
			"(allow mach-lookup (global-name \"com.apple.trustd\") (global-name \"com.apple.trustd.agent\"))\n", in.ProxyPort)
	}
	if in.Inbound {
		out += "(allow network-inbound (local ip \"localhost:*\"))\n"
	}
	return out
}

// unixSockets lets a server have UNIX sockets at all. Where is a matter of their paths.
const unixSockets = "(allow system-socket (require-all (socket-domain AF_UNIX) (socket-type SOCK_STREAM)))\n"
