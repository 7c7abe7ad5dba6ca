package said

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

const (
	hostChars = `[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?`
	addrChars = `[0-9A-Fa-f:.]*[0-9A-Fa-f]`
)

var (
	// getaddrinfo ENOTFOUND api.x.com, queryA EAI_AGAIN host:443   (node)
	nodeName = lazy.Regexp(`\b(?:ENOTFOUND|EAI_AGAIN|EAI_FAIL|EAI_NODATA|EAI_NONAME|ESERVFAIL)\s+(` + hostChars + `)(?::(\d{1,5}))?`)
	// connect ECONNREFUSED 1.2.3.4:443   (node)
	nodeAddr = lazy.Regexp(`\bconnect (?:ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|EACCES|EPERM|EADDRNOTAVAIL|ECONNRESET) (` + addrChars + `):(\d{1,5})\b`)
	// Could not resolve host: x; Failed to resolve 'x'; could not translate host name "x"
	resolveName = lazy.Regexp(`(?i)(?:resolve|resolving|translate|find|unknown|reach)(?: the)?(?: host(?: ?name)?(?: address)?| proxy)?:?\s+['"‘` + "`" + `]?(` + hostChars + `)['"’` + "`" + `]?`)
	// dial tcp: lookup x on 127.0.0.53:53: no such host   (Go)
	goName = lazy.Regexp(`\blookup (` + hostChars + `)(?: on [^\s]+)?:`)
	// dial tcp 1.2.3.4:443: connect: …   (Go)
	goAddr = lazy.Regexp(`\bdial (?:tcp|udp)[46]? (?:\S+->)?\[?(` + hostChars + `|` + addrChars + `)\]?:(\d{1,5}): `)
	// HTTPSConnectionPool(host='x', port=443)   (urllib3)
	poolHost = lazy.Regexp(`(?:(HTTPS?)ConnectionPool\()?host='([^']+)', port=(\d{1,5})`)
	// Failed to connect to x port 443; connect to host x port 22   (curl, ssh)
	portHost = lazy.Regexp(`(?i)connect to (?:host |server at )?['"]?(` + hostChars + `)['"]?(?: \([^)]*\))?,? port (\d{1,5})`)
	// UnknownHostException: x   (Java); connection to server at "x", port 5432   (libpq)
	javaName = lazy.Regexp(`UnknownHostException: (` + hostChars + `)`)
	pgHost   = lazy.Regexp(`server at "([^"]+)"(?: \([^)]*\))?, port (\d{1,5})`)
	// server running on host "x" (127.0.0.1) and accepting TCP/IP connections on port 5432   (libpq before 14)
	oldPgHost = lazy.Regexp(`on host "([^"]+)"(?: \([^)]*\))? and accepting TCP/IP connections on port (\d{1,5})`)
	// Can't connect to MySQL server on 'x:3306' (111)
	mysqlHost = lazy.Regexp(`MySQL server on '(` + hostChars + `|` + addrChars + `)(?::(\d{1,5}))?'`)
	// Connection refused: localhost/127.0.0.1:5432   (Java)
	javaAddr = lazy.Regexp(`(?i)\bconnection (?:refused|timed out|reset)[^:]{0,40}: (` + hostChars + `)?/(?:\[?(` + addrChars + `)\]?):(\d{1,5})`)
	// Connect call failed ('127.0.0.1', 5432)   (asyncio); localhost:27017: [Errno 111]   (pymongo)
	asyncioAddr = lazy.Regexp(`Connect call failed \('([^']+)', (\d{1,5})`)
	errnoPair   = lazy.Regexp(`(?:^|[\s,"'])(` + hostChars + `):(\d{1,5}): \[(?:WinError|Errno) \d`)
	// host:port after a word of connecting, or in parentheses (.NET)
	pairHost = lazy.Regexp(`(?i)(?:(?:connect(?:ing|ion)?(?: to| at)?|reach|host|address)[ :'"]+|\()(` + hostChars + `):(\d{1,5})\b`)
	anyURL   = lazy.Regexp(`\b(https?|wss?|postgres(?:ql)?|mysql|mongodb|redis|rediss|amqp|tcp)://[^\s'"<>)\]},` + "`" + `]+`)
)

func hostReferences(line string, f Fault) (refs []Reference) {
	if f != Network && f != Refused || DistrustsAuthority(line) { // connect EACCES 1.2.3.4:443
		return nil // a host that shows a certificate was reached
	}
	add := func(host, port, scheme string) {
		if port == "" && strings.HasPrefix(line, "ssh: ") { // it names no port if the lookup failed
			port, scheme = "22", "tcp"
		}
		if ref, ok := hostReference(host, port, scheme); ok {
			refs = append(refs, ref)
		}
	}
	// node, Go and libpq name the address also where the kernel refused the connection.
	for _, m := range nodeAddr().FindAllStringSubmatch(line, 4) {
		add(m[1], m[2], "")
	}
	for _, m := range goName().FindAllStringSubmatch(line, 2) {
		add(m[1], "", "")
	}
	for _, m := range goAddr().FindAllStringSubmatch(line, 2) {
		add(m[1], m[2], "")
	}
	for _, m := range pgHost().FindAllStringSubmatch(line, 2) {
		add(m[1], m[2], "tcp")
	}
	if f != Network {
		return refs
	}
	for _, m := range nodeName().FindAllStringSubmatch(line, 4) {
		add(m[1], m[2], "")
	}
	for _, m := range poolHost().FindAllStringSubmatch(line, 2) {
		add(m[2], m[3], strings.ToLower(m[1]))
	}
	for _, m := range portHost().FindAllStringSubmatch(line, 2) {
		add(m[1], m[2], "")
	}
	addRefused(line, add)
	for _, m := range javaName().FindAllStringSubmatch(line, 2) {
		add(m[1], "", "")
	}
	// Sentences are less sure than the forms above: only where none of those matched.
	if len(refs) == 0 {
		for _, m := range resolveName().FindAllStringSubmatch(line, 2) {
			// "could not resolve dependency" names no host: a host needs a dot or the word.
			if (strings.Contains(m[1], ".") || strings.Contains(strings.ToLower(m[0]), "host")) && !isSourceFile(m[1]) {
				add(m[1], "", "")
			}
		}
	}
	if len(refs) == 0 {
		for _, at := range pairHost().FindAllStringSubmatchIndex(line, 4) {
			if host, port := line[at[2]:at[3]], line[at[4]:at[5]]; !isSourcePlace(host, line[at[0]] == '(', line[at[1]:]) {
				add(host, port, "")
			}
		}
	}
	return withURLs(line, refs)
}

// addRefused adds the hosts that clients of databases and runtimes name for a refused connection.
func addRefused(line string, add func(host, port, scheme string)) {
	for _, form := range []func() *regexp.Regexp{oldPgHost, asyncioAddr, errnoPair} {
		for _, m := range form().FindAllStringSubmatch(line, 2) {
			add(m[1], m[2], "")
		}
	}
	for _, m := range mysqlHost().FindAllStringSubmatch(line, 2) {
		add(m[1], cmp.Or(m[2], "3306"), "tcp")
	}
	for _, m := range javaAddr().FindAllStringSubmatch(line, 2) {
		add(cmp.Or(m[1], m[2]), m[3], "")
	}
}

// withURLs adds scheme and port from the URLs of a line to the hosts in it. If nothing
// else names a host, the URL itself is a vague reference.
func withURLs(line string, refs []Reference) []Reference {
	exact := len(refs) > 0
	for _, raw := range anyURL().FindAllString(line, 4) {
		u, err := url.Parse(strings.TrimRight(raw, ".,;:!?"))
		if err != nil {
			continue
		}
		ref, ok := hostReference(u.Hostname(), u.Port(), schemeOf(u.Scheme))
		if !ok {
			continue
		}
		if ref.Port == 0 {
			ref.Port = portOf(u.Scheme)
		}
		for i := range refs {
			if refs[i].Name == ref.Name && (refs[i].Port == 0 || refs[i].Port == ref.Port) {
				refs[i].Port, refs[i].Scheme = ref.Port, ref.Scheme
			}
		}
		if !exact {
			ref.Vague = true
			refs = append(refs, ref)
		}
	}
	return refs
}

func hostReference(host, port, scheme string) (Reference, bool) {
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	n, _ := strconv.Atoi(port)
	if n < 0 || n > 65535 || !isHost(host) {
		return Reference{}, false
	}
	return Reference{Kind: Host, Name: host, Port: n, Scheme: scheme, Fault: Network}, true
}

// isHost reports whether s is a name or address that a rule could name, and not a common
// word of messages.
func isHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return !strings.Contains(s, "%")
	}
	if s == "" || len(s) > 253 || strings.Contains(s, ":") {
		return false
	}
	switch s {
	case "host", "address", "name", "hostname", "undefined", "null", "the", "dependency", "error", "on", "to", "for", "proxy", "server":
		return false
	}
	for _, label := range strings.Split(s, ".") {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}
		for i := 0; i < len(label); i++ {
			c := label[i]
			if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
				return false
			}
		}
	}
	// A valid address has parsed above. A name of digits only is a broken address.
	return strings.Trim(s, "0123456789.") != ""
}

func schemeOf(s string) string {
	switch s {
	case "http", "ws":
		return "http"
	case "https", "wss":
		return "https"
	}
	return "tcp"
}

func portOf(scheme string) int {
	switch scheme {
	case "http", "ws":
		return 80
	case "https", "wss":
		return 443
	case "postgres", "postgresql":
		return 5432
	case "mysql":
		return 3306
	case "mongodb":
		return 27017
	case "redis", "rediss":
		return 6379
	case "amqp":
		return 5672
	}
	return 0
}

// SplitEndpoint parses the target of a refused connection: a host, host:port, an address
// or a URL.
func SplitEndpoint(target string) (host string, port int, scheme string, ok bool) {
	if strings.Contains(target, "://") {
		u, err := url.Parse(target)
		if err != nil {
			return "", 0, "", false
		}
		scheme = schemeOf(u.Scheme)
		port, _ = strconv.Atoi(u.Port())
		if port == 0 {
			port = portOf(u.Scheme)
		}
		target = u.Hostname()
	} else if h, p, err := net.SplitHostPort(target); err == nil {
		target = h
		port, _ = strconv.Atoi(p)
	}
	ref, ok := hostReference(target, strconv.Itoa(port), scheme)
	return ref.Name, ref.Port, ref.Scheme, ok
}

// Endpoint returns host:port, or the host alone if the port is not known.
func Endpoint(host string, port int) string {
	if port == 0 {
		return host
	}
	if strings.Contains(host, ":") {
		return "[" + host + "]:" + strconv.Itoa(port)
	}
	return host + ":" + strconv.Itoa(port)
}
