// Package session is what a stateful and a stateless session share.
//
// A [Client] is the client of a session: its streams, the answers and warnings that it gets, and
// the record of the session. A [Server] is a process of the server, with its pipes, its stderr and
// its denials, or several of which one replaces the other. [ToolCheck] compares definitions of
// tools with the pins. [LeakCheck] looks for secrets.
//
// The package comment of lifecycle tells what a session does, and when it ends.
package session
