// Package egress lets the programs of one jail reach the hosts that its policy
// grants, and no others. It is the host's side of that; how sockets come out of a
// jail is package confine's.
//
// # Use
//
//	g := egress.New(egress.Options{Rules: profile.Net})
//	g.Serve(sockets) // opened inside of the jail, in its network
//	...
//	g.Close()
//	g.Denials()
//
// A [Gate] answers the jail's DNS, accepts its connections, decides, dials and
// passes on. Where a connection's destination is known some other way there are
// [Gate.Accept], [Gate.Answer], [Gate.Allowed] and [Gate.Refuse].
//
// # What is decided when
//
//	a name      is looked up only if some rule allows it on some port; others do not
//	            exist. It gets one address, which is its own as long as it is used:
//	            its real IPv4 one, or one of 127.64.0.0/10
//	a connection  is for the name that has its address, or for the address itself.
//	            None that could be granted: reset
//	the dial    goes to an address that [policy.CheckAddress] has passed, asked anew
//	            for the very socket. Lookups are kept for 30 seconds
//	first bytes of all but scheme = "tcp" are held back until they are a TLS
//	            handshake with the granted name, an HTTP/1 request with it, or
//	            evidently neither; meanwhile what upstream says passes
//	a request   of HTTP/1 in the open is looked at each time, so that a connection
//	            for one host does not ask for another. It has to be written strictly
//	            (RFC 9112 as the narrowest of servers reads it)
//
// Whoever grants an address, or localhost, grants all that is there, whatever it is
// called. Under "*" a name in the first bytes has to be granted itself.
//
// What is refused is on record before the program can know. What fails, because
// nobody listens or a name does not exist, is not: the program sees it as it is,
// as far as a connection that was accepted already can show it.
//
// # The host's proxy
//
// Where the host has an HTTPS proxy, connections that may be HTTPS go through it by
// CONNECT, by name. The name's addresses are checked as far as this host can resolve
// it; what the proxy makes of it is the proxy's.
//
// # Limits
//
//   - What is inside of TLS is not seen: the Host behind a matching SNI, a name that
//     is encrypted (ECH; the keys are not handed out, but a program can bring them),
//     another one in a second ClientHello. Servers that serve several hosts refuse
//     that, or not.
//   - Data can leave through any granted host, slowly also by lookups below a
//     wildcard: at most 100 characters each, and 5 new ones a second after the
//     first 200.
//   - TXT, MX, SRV, SVCB and HTTPS records, and IPv6 addresses, do not exist for a
//     jail. IPv6 hosts are reached all the same.
//   - A client that closes its side and a server that never does keep a connection,
//     and its place among Limits.Connections, until one of them ends.
//   - A line protocol without scheme = "tcp" whose first words could be the beginning
//     of an HTTP request is held until the end of the line.
//   - The addresses of the host's interfaces are those of up to five seconds ago.
package egress
