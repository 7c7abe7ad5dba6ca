// Package intercept serves connections of a jail whose requests have to be seen:
// those to hosts with a path_prefix, methods or a secret in their rules. It is an
// egress.Terminator.
//
// Each connection of the jail gets a connection to the upstream of its own, which no
// other ever uses: what confuses one of them confuses nobody else. For TLS the
// jail's side is shown a certificate of an authority made for this session, whose
// key never leaves the process and whose certificate is limited to the hosts
// in question (critical name constraints); the upstream's certificate is verified
// with the host's roots. Both sides speak the protocol that the upstream chose from
// what the client offered, HTTP/1.1 or HTTP/2.
//
// # What is refused
//
// A request that the rules do not allow is answered with 403 and a text that names
// the rule; one with another host in it with 421. Refused with 403 too is what could
// be read in two ways: an absolute URI as target, CONNECT, both lengths in one header
// (Transfer-Encoding and Content-Length), header lines that end or continue in an
// unusual way, an empty line before the first, Transfer_Encoding and its like, an
// upgrade to anything but WebSocket; and for hosts whose rules look at paths or
// methods, a path that is not canonical (dot segments and what some take for them,
// escaped separators, control characters, broken UTF-8), a method that is not written
// in capitals, and header fields that some servers take for another path or method,
// however their names are written. A Destination (WebDAV) is decided as the path is.
//
// A TLS handshake that names another host, or none, fails. A certificate of the
// upstream that cannot be verified is a 502 with its reason. An upstream that cannot
// be reached, or ends in the middle, looks like just that.
//
// # What passes
//
// Everything else, as it was: header fields (also their absence), paths and queries
// byte for byte as far as they are valid, trailers that the header announces, 1xx
// answers, streams, uploads of any size, WebSocket. Redirects are answers, and are not
// followed. What belongs to one connection only (Connection, Keep-Alive, Proxy-*) is not
// passed on. The chunks of a body are made anew.
//
// # Secrets
//
// A placeholder is replaced by its value in the header fields that carry credentials, or
// those that the rule names, and inside the credentials of Basic, in requests over TLS that
// a rule with this secret decides. Not in paths, queries and bodies. A request with the
// placeholder in another field is refused. Fields that name another host to some servers
// (X-Forwarded-Host and the like) do not travel with a value, and a Destination has to be
// allowed. What the upstream answers is not changed: one that shows these fields shows
// the secret to the jail.
package intercept
