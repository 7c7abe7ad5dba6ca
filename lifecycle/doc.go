// Package lifecycle decides how many processes a server gets, and when they
// start and end. It joins the other packages: confine starts the process,
// mcpproxy moves the messages, diagnostics explains what went wrong.
//
// # A stateful server
//
// [RunStateful] runs one client session against one process. It starts the
// process in its jail, relays until one side ends, and then sees to it that
// nothing stays behind:
//
//	client closes stdin   close the server's stdin, relay until it exits,
//	                      SIGTERM after 5 s, SIGKILL of the jail 2 s later
//	client closes stdout  the same, noticed at the next message; what the server
//	                      still says is discarded
//	client has died: the  SIGTERM at once, SIGKILL of the jail 2 s later
//	other ends of both,
//	or of a socket, gone
//	SIGTERM, SIGINT,      forward it, SIGKILL of the jail after 600 ms,
//	SIGHUP, ctx           return before 1 s
//	server exits          drain its stdout, answer every open request with a
//	                      classified error, return its status. A client that
//	                      stands still is waited for until it leaves or signals
//
// A server that cannot be started, or that ends or stays silent before its first
// answer, does not end the session at once: most clients show only answers, and
// dual-era clients swallow the error of their first request. So each request
// that still comes is answered with the same error until the client closes its
// stdin, or falls silent.
//
// # A stateless server
//
// [RunStateless] runs one client session in which each tools/call has a process
// of its own, under the policy of its tool, that is past the client's handshake
// when it gets the call and ends with the answer. What the server lists is
// answered from a [catalog.Catalog]; all else by one process for discovery, under
// the profile of the Session. Spare processes can be started ahead. A message of
// the client that two readers could read differently is refused, and so is a tool
// that is neither listed nor declared: the jail has to be that of the tool which
// the server will run. The end of the client ends everything as above, but for a
// process that has answered, which has half a second to end by itself.
//
// # The probe shield
//
// A client of both eras opens with server/discover, and legacy servers exist that
// end on it or never answer. When that is the first message of a session, a
// server that ends on it is answered for and, once the client goes on, started
// afresh; frames behind the probe are replayed. One that ignores the probe for
// two seconds after reading it is answered for and kept. Once in a session.
//
// # What the server is told
//
// With Profile.Advertise, initialize, server/discover and modern tools/call
// requests gain the profile's Statement. With Profile.Roots the client's answers
// to roots/list are narrowed to what the profile lets the server read, or given
// by us. Nothing else of the client's is ever changed.
//
// # The client's descriptors
//
// They are used in the mode in which they came. A descriptor that is blocking
// stays blocking: O_NONBLOCK belongs to the open file, which may be shared with
// the user's shell, and a proxy that is SIGKILLed could not restore it. The
// price: a read of a blocking descriptor cannot be interrupted, so the one
// goroutine that reads it may outlive RunStateful until the program exits (or
// the client writes or closes). The same goes for a write to a client that never
// reads. With descriptors that support deadlines nothing is left behind. The
// pipes to the server are our own, non-blocking on our side and blocking on the
// server's.
//
// # Limits
//
//   - Refusals of the jail are attributed to a call by their time. Of calls that
//     overlap, each is told of them.
//   - The text of a result is looked at only while the frame is held in memory.
//   - Signals are taken from the whole program while RunStateful runs.
package lifecycle
