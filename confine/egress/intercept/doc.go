// Package intercept decides about the single requests of a jail's connections. It serves the
// connections to hosts whose rules have a path_prefix, methods or a secret. [Interceptor]
// implements egress.Interceptor.
//
// Each connection of the jail has upstream connections of its own, which no other connection
// uses. So an upstream that mixes up requests mixes up only those of one connection.
//
// For TLS, the jail is shown a certificate of an authority that was made for this session.
// The authority's key never leaves the process. Its certificate is limited to the hosts in
// question by critical name constraints. The certificate of the upstream is verified with the
// authorities of [Options]. Both sides speak the protocol that the upstream chose from the client's
// offer: HTTP/1.1 or HTTP/2.
//
// # Refused
//
// A request that the rules do not allow gets status 403 and a text that names the rule. A
// request that names another host gets 421. A TRACE request gets 403, because its response would
// contain the secrets. So does a request with a leaked secret, if [egress.Leaks] has Block. A
// request that two servers could read in two ways also gets 403:
//
//   - an absolute URI as target, CONNECT, or an upgrade to anything but WebSocket
//   - a field that some servers read as Transfer-Encoding or Content-Length (see
//     [egress.CheckField]), in the trailers too
//
// net/http reads the requests of HTTP/1 and refuses what it cannot read. What it reads is written anew, so what the
// host gets has one meaning.
//
// If the rules for the host mention paths or methods, these get 403 as well:
//
//   - a path that is not canonical: dot segments and similar ones, empty segments, escaped
//     separators, control characters, broken UTF-8
//   - a method that is not in capitals
//   - a header field that some servers take for another path or method, in any spelling, and the
//     parameter _method in the query of a POST
//
// A Destination field (WebDAV) is decided like the path.
//
// A TLS handshake that names another host or none fails. An upstream whose certificate cannot
// be verified results in status 502 with the reason. If an upstream cannot be reached or ends
// early, the Interceptor makes up no response. It ends the jail's connection, or in HTTP/2 the
// stream.
//
// # Forwarded
//
// Everything else is forwarded unchanged, but for secrets: header fields (and their absence), valid paths and
// queries byte for byte, announced trailer fields, 1xx responses, streams, uploads of any
// size, WebSocket. Redirects are forwarded and not followed. Fields about one connection
// (Connection, Keep-Alive, Proxy-*) are not forwarded. Chunked bodies are chunked anew.
//
// # Secrets
//
// In a request over TLS that a rule with a secret allows, the secret's placeholder is replaced by
// the secret's value. That happens in the header fields for credentials or, if the rule names
// fields, in those; also inside Basic credentials. It does not happen in paths, queries and
// bodies. A request with the placeholder in another field is refused. A request with a value loses
// the fields that name another host to some servers (X-Forwarded-Host and the like), and its
// Destination must be allowed.
//
// A host may send a value back. So each byte of a value becomes a "*" in all responses of the hosts
// whose rules have the secret: in header fields, bodies, trailer fields, 1xx responses and WebSockets,
// in the forms of [leak.Mask]. A value that can be guessed is not replaced, because the jail could try
// which text becomes stars. The proxy must be able to read the response:
//
//   - A request loses Range and fields like it, Sec-WebSocket-Extensions and what offers compression,
//     but for gzip. A response in gzip is decompressed. One with another encoding, or in a charset
//     that does not extend ASCII, is refused with status 502.
//   - The end of a body is kept back until more comes, as many bytes as the longest form has, unless
//     it is a line end. How much does not depend on the text: otherwise the jail could learn of parts.
//   - The messages of gRPC and WebSockets are passed on at once. A value in several pieces, of which
//     some were passed on, ends the stream.
package intercept
