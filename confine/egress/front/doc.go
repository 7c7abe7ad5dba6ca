// Package front is the side of a session's proxy that faces its clients: HTTP CONNECT, HTTP requests
// with a whole URL (RFC 9112), and SOCKS5 with a password (RFC 1928, RFC 1929). It knows no rules.
// Package egress decides about the hosts that clients ask for, and connects to them.
//
// The proxy listens on the host's loopback, where every user of the machine can connect. So a client
// needs the password of the session. What a client without it asks for is neither used nor on record:
// otherwise other users could choose what a diagnosis proposes to grant.
package front
