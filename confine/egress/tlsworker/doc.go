// Package tlsworker runs mcp-jail-tls, a separate process that serves the connections of a
// jail whose requests must be read. [Worker] is the launcher's side: it implements
// egress.Interceptor and carries connections to the process. [Run] is the main function of the process.
//
// There are two reasons for a second program. It holds the secrets and parses HTTP from the
// jail and from the network, so it runs in a jail of its own, with no file, network or program: package
// confine starts it like any other server. And net/http and crypto/tls would slow every start of
// mcp-jail and of a jail's supervisor, while few sessions have such rules.
//
// # Protocol
//
// The process has its standard input and output, and no other descriptor. They carry frames: messages in JSON, and
// the bytes of connections, each with a window of its own.
//
//	launcher                              process
//	  setup ───────────────────────────>    creates an authority
//	    <────────────────────────────── hello, with its certificate
//	  serve, which begins a connection ─>
//	    <─────────────────────────── dial   for that connection
//	  answer ──────────────────────────>
//	    <───────────────────── denied, leak
//	  answer ──────────────────────────>
//
// The process never dials. The launcher dials the address that it has checked, and carries the bytes. The process
// answers the jail about a refusal when the launcher has recorded it. No secret is in an argument, in the
// environment or in a file.
//
// When its input ends, the process ends, and its connections with it. Later ones are refused, because the
// authority is gone as well. The launcher trusts nothing that it receives: it kills a process that breaks the
// protocol, does not read, or opens more connections than its jail needs.
package tlsworker
