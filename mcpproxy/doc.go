// Package mcpproxy moves MCP messages between a client and a server byte for
// byte, and knows just enough of them to say which request an answer belongs to.
//
// # What it does
//
// A [Reader] cuts a stream into frames (one line, its end included) and scans
// the envelope of each: id, method, the tool's name, whether a result is an
// error, and the offsets at which something could be inserted. The scan neither
// decodes nor re-encodes anything. A [Writer] is the one writer of a direction:
// whole frames only, so that a message of our own can be injected between two
// frames and nowhere else. A [Pending] table remembers what was asked. A [Proxy]
// puts them together for one client: it forwards, matches answers to requests by
// id and calls [Hooks] at the few places at which somebody may want to speak up.
//
// Where something has to be added to a message, it is spliced into the original
// bytes, or cut out of them: see [Frame.AddMember], [Frame.Cut], [Frame.Replace].
// Numbers such as 9007199254740993, unknown members, the order of members, white
// space and line ends stay what they were.
//
// Who sends the messages of one client to several servers needs frames that
// outlive the Reader ([Frame.Detach]), the messages of a batch one by one
// ([Frame.Split], [Batch]), and must know when a server could see another call in
// a frame than the envelope says: [Flaw.Ambiguous].
//
// # Memory
//
// A frame of up to 4 MiB is held in memory. A larger one goes to an unlinked
// temporary file until its end is known, and one beyond the limit of the Reader
// is dropped while it is still being scanned: the frame is then reported as
// Oversized, with its id even if the id is its last member. So a line of 1 GiB
// costs some 4 MiB. Where there can be no such file, or it takes no more, the rest
// of the frame is held in memory too: up to the limit for each frame on its way.
//
// # Limits
//
//   - Ids are compared as strings (escapes decoded) or as raw number tokens. A
//     peer that answers id 1.0 with 1 is not understood.
//   - A request that was cancelled is forgotten. An answer that comes all the same
//     passes without a hook being told what it answers.
//   - Requests of a server are not told apart by whether the server still lives:
//     who replaces one marks them by Pending.Answer.
//   - A server's requests that wait for the client's answers may take 4 MiB, some
//     ten thousand of the usual size: further ones are not forwarded.
//   - Of a batch, the first 4096 members are looked into, and none that are arrays; of all texts that a
//     frame's envelope captures (ids, methods, names), 1 MiB.
//   - Duplicate names are looked for where a message is told apart from another:
//     in the envelope, in params, result, error and the _meta of both. What lies
//     deeper is only checked for being JSON.
//   - A line ends with a newline, and for some readers with a carriage return
//     (FlawLine). One that cuts lines elsewhere, such as at the size of its buffer,
//     may see messages in the middle of others.
//   - NaN, the infinities and a byte order mark are no JSON, but some peers agree
//     on them: such frames pass, with a flaw.
//   - Containers nested deeper than 10000 are malformed, as for encoding/json.
//   - Members of our own prefix are found in result._meta, error.data, params._meta
//     and params.capabilities.experimental, also where those names are duplicate
//     or written in another case; not deeper, and not in the text of a result.
//
// What a process is, or a policy, is not known here. Nothing but the standard
// library is imported.
package mcpproxy
