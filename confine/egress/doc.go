// Package egress is the host's end of a jail's network. It lets the programs of one jail
// connect to the hosts that the policy grants, and to no others. Package confine opens the
// sockets inside the jail.
//
// # Use
//
//	g := egress.New(egress.Options{Rules: profile.Net})
//	g.Serve(sockets) // opened in the jail's network namespace
//	...
//	g.Close()
//	g.Denials()
//
// A [Gateway] answers the jail's DNS queries, accepts its connections, decides, dials and
// relays. If a jail has no network namespace, confine passes the connections one by one:
// [Gateway.Accept], [Gateway.ServeSeqpacket], [Gateway.Allowed] and [Gateway.Refuse].
//
// # Decisions
//
//	name         A name is looked up only if some rule allows it on some port. Other names
//	             do not exist. Each name gets one address, which identifies it while it is
//	             in use: its real IPv4 address, or one of 127.64.0.0/10.
//	connection   A connection is to the name that has its destination address, or else to
//	             that address. The Gateway resets it if no rule can grant it.
//	dial         The Gateway dials only addresses that [policy.CheckAddress] accepts. It
//	             checks each socket again. Lookups are cached for 30 seconds.
//	first bytes  Except for rules with scheme = "tcp", the first bytes are held back until
//	             they are a TLS handshake with the granted name, an HTTP/1 request to it, or
//	             certainly neither, which port 443 refuses. Bytes from upstream are forwarded
//	             meanwhile. A second ClientHello must have the same name.
//	request      Every cleartext HTTP/1 request is checked, because a connection to one host
//	             can carry requests to another. Requests must be written strictly, so that
//	             all servers read them alike (RFC 9112).
//
// A rule that grants an address or localhost grants every name there. Under the rule "*", a
// name in the first bytes must be granted as well.
//
// A refusal is on record before the program can notice it. A failure is no refusal, for example a
// name that does not exist or a port without a listener. [Gateway.HostFailures] lists the latest
// failures at granted hosts. The program sees a failure as it is, as far as an accepted connection
// can show it.
//
// # The session's proxy
//
// Where a jail has no network namespace and its connections are not passed on, as on macOS, programs
// reach granted hosts through a proxy on the host's loopback: [Gateway.ServeProxy]. It decides by the
// same rules and checks. It speaks HTTP and SOCKS5 and needs the session's password, because every
// user of the machine can connect to it. What a program without the password asks for is neither
// looked up nor on record.
//
// # The host's proxy
//
// If the host has an HTTPS proxy, connections that may be HTTPS go through it, by name. If it has a
// SOCKS proxy, all do. The name's addresses are checked as far as this host can resolve them. The
// proxy may resolve the name to another address, but for one that is asked for the address: see
// package upstream.
//
// # Limits
//
//   - Without an Interceptor, the Gateway cannot see a Host field other than the server name, an
//     encrypted server name (ECH; its keys are not handed out, but a program can bring them), or
//     another name where TLS 1.2 is negotiated again. Some servers refuse such requests.
//   - Data can leave through any granted host, and slowly through lookups below a wildcard:
//     at most 100 characters each, and 5 new names a second after the first 200.
//   - TXT, MX, SRV, SVCB, HTTPS and AAAA records do not exist for a jail, but for the AAAA record
//     of localhost. Hosts with only IPv6 addresses can still be reached by name.
//   - A connection whose client has closed its side, and whose server does not, keeps its
//     place among Limits.Connections until one of them ends it.
//   - A line protocol without scheme = "tcp" is held back until the end of its first line if
//     that line could begin an HTTP request.
//   - Except on Linux, the host's own addresses are those of its interfaces, without its other routes.
package egress
