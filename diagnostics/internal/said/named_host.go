package said

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

var (
	// namedURL matches a URL in an argument or a value, jdbc:postgresql://db:5432/x among them. Of
	// several hosts (mongodb://a,b/x) it takes the first.
	namedURL = lazy.Regexp(`\b([a-zA-Z][a-zA-Z0-9+.-]*)://(?:[^\s/@'"]*@)?(\[[0-9A-Fa-f:.]+\]|[^\s/:,?#'"@\[\]]+)(?::(\d{1,5}))?`)
	// namedField matches the fields of a connection string: host=db port=5432, Server=tcp:db,1433;
	namedField = lazy.Regexp(`(?i)(?:^|[\s;])(?:host|hostname|server|data source|addr|address)\s*=\s*(?:tcp:)?([A-Za-z0-9_.-]+)(?:[,:](\d{1,5}))?`)
	namedPort  = lazy.Regexp(`(?i)(?:^|[\s;])port\s*=\s*(\d{1,5})`)
	// namedTCP matches user:password@tcp(db:3306)/x   (Go's MySQL)
	namedTCP = lazy.Regexp(`@tcp\(([A-Za-z0-9_.-]+)(?::(\d{1,5}))?\)`)
	// plainHost matches db.example or db.example:5432.
	plainHost = lazy.Regexp(`^([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)(?::(\d{1,5}))?$`)
)

// hostEndings end the name of a variable or flag whose value is a host.
var hostEndings = []string{"host", "hostname", "server", "addr", "address", "endpoint", "domain", "broker", "brokers", "pghost", "pghostaddr"}

// servicePorts are the ports of services that a name begins with, for a host without a port.
var servicePorts = map[string]int{"pg": 5432, "postgres": 5432, "postgresql": 5432, "mysql": 3306, "mariadb": 3306, "redis": 6379, "mongo": 27017, "mongodb": 27017, "mssql": 1433, "smtp": 587, "imap": 993}

// NamedHosts returns the hosts that the value of a variable or a flag names: of a URL, of a connection
// string, or a host alone, if the name says that it is one. port is for a host without a port.
func NamedHosts(name, value, port string) (all []Reference) {
	found := func(scheme, host, number string) {
		if number == "" {
			number = port
		}
		if scheme != "" {
			host, number = scheme+"://"+joinPort(host, number), ""
		} else {
			host = joinPort(host, number)
		}
		if h, p, s, ok := SplitEndpoint(strings.ToLower(host)); ok {
			all = append(all, Reference{Kind: Host, Name: h, Port: p, Scheme: s})
		}
	}
	for _, m := range namedURL().FindAllStringSubmatch(value, 8) {
		switch scheme := strings.ToLower(m[1]); scheme {
		case "file", "unix", "npipe", "data", "sqlite", "sqlite3", "duckdb", "memory", "stdio", "ssh-agent", "urn", "about":
		default:
			found(scheme, m[2], m[3])
		}
	}
	for _, m := range namedTCP().FindAllStringSubmatch(value, 1) {
		found("", m[1], m[2])
	}
	if m := namedField().FindStringSubmatch(value); m != nil {
		if m[2] == "" {
			if p := namedPort().FindStringSubmatch(value); p != nil {
				m[2] = p[1]
			}
		}
		found("", m[1], m[2])
	}
	// A host alone is known by the name beside it.
	lower := strings.ToLower(strings.TrimLeft(name, "-"))
	words := strings.FieldsFunc(lower, func(r rune) bool { return r == '_' || r == '-' })
	m := plainHost().FindStringSubmatch(value)
	if len(words) == 0 || m == nil {
		return all
	}
	last := words[len(words)-1]
	if !slices.Contains(hostEndings, last) || !strings.Contains(m[1], ".") && last != "host" && last != "pghost" {
		return all // "server", "memory": not the name of a host
	}
	if usual := servicePorts[strings.TrimSuffix(words[0], "host")]; m[2] == "" && port == "" && usual != 0 {
		m[2] = strconv.Itoa(usual)
	}
	found("", m[1], m[2])
	return all
}

func joinPort(host, port string) string {
	if port == "" {
		return host
	}
	return host + ":" + port
}
