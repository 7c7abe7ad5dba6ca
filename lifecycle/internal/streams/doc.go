// Package streams has the streams of a session, and tells how a session is to end.
//
// [Pipes] are those of a server. [Blocking] and [CountingWriter] are for the client's stdin and
// stdout, and [Stderr] for its stderr, where mcp-jail writes, too. [WatchHangup] tells that the
// client has left, and [ListenForSignals] that a signal is to end the session.
package streams
