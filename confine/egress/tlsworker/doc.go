// Package tlsworker runs mcp-jail-tls, a separate process that serves the connections of a
// jail whose requests must be read. [Worker] is the launcher's side: it implements
// egress.Interceptor, starts the process and passes connections to it. [Run] is the main
// function of the process.
//
// There are two reasons for a second program. It holds the secrets and parses HTTP from the
// jail and from the network, so it gives up everything else: it has no files, no new sockets
// and no programs (see enterSandbox). And net/http and crypto/tls would slow every start of
// mcp-jail and of a jail's supervisor, while few sessions have such rules.
//
// # Protocol
//
// A pair of sockets (AF_UNIX, SOCK_SEQPACKET) carries one JSON message in each packet, some
// with a descriptor:
//
//	launcher                              process
//	  rules ───────────────────────────>    creates an authority
//	    <──────────────────────── its certificate
//	    <──────────────────────────────── ready: it has entered its sandbox
//	  secrets ─────────────────────────>
//	  serve, with the jail's connection ─>
//	    <─────────────────────────── dial   for that connection
//	  upstream, with a connection ──────>
//	    <────── denied, leak, sent, done
//	  end, of a connection ────────────>
//
// The process never dials. The launcher dials the address that it has checked. The process
// reports a refusal before it answers the jail, and the launcher receives the reports before
// it lists refusals (see [Worker.FlushDenials]). No secret is in an argument, in the
// environment or in a file.
//
// When the socket ends, the process ends, and its connections with it. Connections that come
// later are refused, because the authority is gone as well.
package tlsworker
