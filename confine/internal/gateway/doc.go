// Package gateway is the launcher's end of a jail's network.
//
// A jail passes sockets to the launcher. Package egress decides about the
// connections on them. Around that, this package has three parts:
//
//   - The broker serves a jail without a network namespace: its supervisor makes the server's
//     sockets and asks the broker which addresses each may reach.
//   - inbound joins connections to ports of the host's loopback to the same ports in one jail. [Ports] are
//     those that the jails of one session have together.
//   - [StartTLS] starts mcp-jail-tls (package tlsworker) if rules concern requests, reads the
//     secrets for it, and writes its certificate authority into the jail's files.
//
// # Limits
//
// The package decides nothing about hosts, names or requests: egress and intercept do. A port
// that was bound in a jail stays the session's until the process ends that bound it: mcp-jail does not
// see that a program closes a socket. Files and commands of secrets are read with the user's rights,
// so policy/resolve must have refused any that a server may write.
package gateway
