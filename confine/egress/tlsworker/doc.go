// Package tlsworker has connections of a jail served by a process of their own,
// mcp-jail-tls, and joins the two: Program is the launcher's side, an
// egress.Terminator that starts the process and hands connections over; Run is the
// side of that process.
//
// There are two reasons for a second program. It holds the secrets, reads HTTP from
// the jail and from the network, and can do next to nothing else: no files, no new
// sockets, no programs (see harden). And net/http, crypto/tls and what they bring along
// would cost every start of mcp-jail, and of its shim, half a millisecond; few
// sessions have rules for which connections have to be taken apart.
//
// # The protocol
//
// A pair of sockets (AF_UNIX, SOCK_SEQPACKET), one message in JSON a packet, some
// with a descriptor:
//
//	launcher                              process
//	  rules ───────────────────────────>    makes an authority
//	    <──────────────────────── its certificate
//	    <──────────────────────────────── ready: it has given up its rights
//	  secrets ─────────────────────────>
//	  serve, with the jail's connection ─>
//	    <─────────────────────────── dial   for that connection
//	  upstream, with a connection ──────>
//	    <──────────── denied, sent, done
//
// The process never dials: the launcher does, to the address that it has checked.
// What it refuses it tells before it answers the jail, and the launcher reads what
// was told before it says what was refused: see Program.FlushDenials.
// Nothing secret is in an argument, in the environment or in a file. The end of the
// socket is the end of the process, and the end of the process that of all its
// connections; what comes after is refused, since the authority is gone as well.
package tlsworker
