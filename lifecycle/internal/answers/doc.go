// Package answers keeps a server's answers to the handshake of a client and to its requests for lists, and
// knows which tools the server has listed.
//
// A session with a process for each call answers initialize, server/discover and the four lists from a
// [Cache]. With [Options.Dir] the cache lives between sessions, in one file for each server and client, whose
// name is a digest of what mcp-jail knows the answers to depend on. Nothing looks at the program for changes:
// a result of an earlier session is served at once and the server is asked again in the background
// ([Cache.TakeStale]), once a session. If the answer differs, the client is told, or in the modern era asks
// again by itself, since such a result is given with a ttlMs of 0.
//
// # What is trusted
//
// A file is used only if package private opens it and its content is what save writes under this name. Any
// other file counts as missing, without an error. resolve.Resolve keeps the directory out of every server's
// reach; on Windows the jail cannot, and nothing is kept there.
//
// # Capabilities
//
// [StripRequest], [StripServer] and [StripTools] remove from messages what a server cannot offer whose
// processes end with each answer: news of changes, and tasks.
//
// # Limits
//
//   - After a change of the program, or of what the server reads, a session's first list is the old one.
//   - That a server does not know server/discover is believed for a day.
//   - Files have at most 8 MiB; the oldest go beyond 256 of them or 64 MiB in all.
package answers
