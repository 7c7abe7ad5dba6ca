// Package mcpproxy relays MCP messages between a client and a server byte for
// byte. It reads just enough of each message to match responses to requests.
//
// # Use
//
// A [Reader] cuts a stream into frames. A frame is one line with its line end.
// The reader scans the envelope of each message: id, method, the name of the
// tool, whether a result is an error, and the offsets at which text can be
// inserted. The scan neither decodes nor re-encodes a message.
//
// A [Writer] is the only writer of a direction. It writes whole frames, so a
// message of mcp-jail can be injected between two frames and nowhere else. A
// [Pending] table holds the open requests. A [Proxy] combines these for one
// client: it forwards frames, matches responses to requests by id and calls
// [Hooks].
//
// Text is added to a message by inserting it into the original bytes, and
// removed by cutting it out: see [Frame.AddMember], [Frame.Cut] and
// [Frame.Replace]. Numbers such as 9007199254740993, unknown members, the order
// of members, white space and line ends stay the same.
//
// A caller that distributes the messages of one client to several servers needs
// three things more: frames that outlive the Reader ([Frame.Detach]), the
// messages of a batch one by one ([Frame.Split], [Batch]), and a warning when a
// server could see another call in a frame than the envelope holds
// ([Flaw.Ambiguous]).
//
// # What is a message
//
// A line of a server is passed on if it is JSON with the members of a JSON-RPC
// message ([Frame.Noise]). All else is noise, which the client does not get. A
// message over several lines, or one framed with Content-Length, is not repaired.
// It is reported with its id, so that its request is answered with an error
// ([ErrSeveralLines], [ErrContentLength]).
//
// # Memory
//
// A frame of up to 4 MiB is held in memory. A larger frame goes to an unlinked
// temporary file until its end is known. A frame beyond the limit of the Reader
// is dropped while it is scanned. It is reported as Oversized, with its id even
// if the id is its last member. So a line of 1 GiB needs about 4 MiB. When no
// temporary file can be made, or the file takes no more bytes, the rest of the
// frame is held in memory, up to the limit for each frame.
//
// # Limits
//
//   - Ids are compared by their values, as JSON-RPC does: 3, 3.0 and 3e0 are one
//     id, and "3" is another. No number is rounded.
//   - A cancelled request is removed from the table. A late response to it is
//     forwarded, unless [Hooks].UnmatchedResponse drops it. The hooks do not learn
//     which request it belongs to.
//   - The table of a server's requests does not record which server process sent
//     them. A caller that replaces the process marks them by [Pending.Answer].
//   - Of each side, 8192 requests may wait for their responses, with ids of at
//     most 1024 bytes. Further requests are not forwarded.
//   - Of a batch the first 4096 messages are scanned, and no nested arrays. Of
//     all texts that are captured from a frame (ids, methods, names), 1 MiB is
//     kept. [Hooks].Receive does not forward a frame that has more of either,
//     since reserved members could hide beyond the bound.
//   - Duplicate names are detected in the envelope, in params, result and error,
//     in the _meta of params and result, in params.capabilities and its
//     experimental, and in error.data. Other objects are only checked for being
//     JSON.
//   - A line ends with a newline, and for some readers with a carriage return
//     (FlawLine). A reader that cuts lines elsewhere, for example at the size of
//     its buffer, may see a message inside another.
//   - NaN, the infinities and a byte order mark are not JSON. Some peers accept
//     them, so such frames pass, with a flaw.
//   - A message with containers nested deeper than 10000 is not passed on ([ErrTooDeep]).
//   - Reserved members are found in result._meta, error.data, params._meta and
//     params.capabilities.experimental, also where those names are duplicate or
//     written in another case. They are not found deeper, nor in the text of a
//     result.
//
// The package knows neither processes nor policies. It imports only the standard
// library.
package mcpproxy
