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
// A pair of sockets (AF_UNIX, SOCK_STREAM) carries JSON messages, each after its length, some with a
// descriptor. The other end says when it has taken one:
//
//	launcher                              process
//	  rules ───────────────────────────>    creates an authority
//	    <──────────────────────── its certificate
//	    <──────────────────────────────── ready: it has entered its sandbox
//	  secrets ─────────────────────────>
//	  serve, with the jail's connection ─>
//	    <─────────────────────────── dial   for that connection
//	  upstream, with a connection ──────>
//	    <────── denied, leak, done
//	  end, of a connection ────────────>
//
// The process never dials. The launcher dials the address that it has checked. The process
// reports a refusal before it answers the jail, and the launcher receives the reports before
// it lists refusals (see [Worker.FlushDenials]). No secret is in an argument, in the
// environment or in a file.
//
// When the socket ends, the process ends, and its connections with it. Connections that come
// later are refused, because the authority is gone as well.
//
// # macOS
//
// This part is not yet run on a Mac. sandbox-exec starts the program under rules of its own
// (seatbelt.CompileTLS). With the rules comes what must be refused: a directory of the user, a port, a signal to mcp-jail, a program. All of it
// works for the launcher. The process tries each, and does no work unless each fails with EPERM. A
// connection of the launcher must work, or the start fails.
//
// The launcher reads the host's roots: SSL_CERT_FILE, or else /etc/ssl/cert.pem. Limits:
//
//   - What the user added to a keychain is in neither file. SSL_CERT_DIR is not read.
//   - Memory has no hard limit. Go collects more often above 64 MiB.
//   - The system does not end the process with mcp-jail. It ends itself when the socket does, so one
//     that was taken over can stay, in its sandbox and with the connections that it has.
package tlsworker
