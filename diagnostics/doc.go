// Package diagnostics has what is known of a failed MCP server ([Evidence]), what is said of it
// ([Diagnosis]), and how that is written: as an error frame, as a block of an answer, on stderr, and in
// the [Record] that `mcp-jail why` reads. It judges nothing: package diagnose makes the one of the other,
// and package change decides what may become of it.
//
// # Attribution
//
// Certain needs a record of the jail, of its start, or of mcp-jail's own check. Likely needs a name in
// the words that the policy refuses. Possible needs only words. None is the rest, also where a note
// says that the jail has no part in it.
//
// # Secrets
//
// What a diagnosis quotes went through a [Redactor], which finds values in common encodings only. A [Tail]
// keeps the end of a server's stderr. Text of a server is data: it is quoted, without control characters,
// and with the mark "[mcp-jail" broken up.
package diagnostics
