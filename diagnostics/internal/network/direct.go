package network

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// unproxiedPrograms are programs that connect by themselves also where a variable names a proxy.
var unproxiedPrograms = []string{
	"ssh", "scp", "sftp", "psql", "pg_dump", "mysql", "mariadb", "mongosh", "redis-cli", "ping", "dig", "nslookup", "nc", "telnet",
}

// unproxiedWords are what libraries of such programs print before an error, in lower case.
var unproxiedWords = []string{"ssh: ", "psycopg", "asyncpg", "ioredis", "redis.exceptions", "pymongo", "mongoserverselection", "pymysql", "mysql2", "grpc"}

const (
	noProxy = "it connects by itself, and on macOS hosts are reached by the session's proxy only"
	useIt   = "have it use the proxy in HTTPS_PROXY, or in ALL_PROXY by SOCKS5; no line of a policy changes this"
)

// refusedPort returns the finding about a denial of the sandbox to listen, or to bind, at
// "*:PORT".
func refusedPort(c *facts.Case, d policy.Denial, cause string) facts.Finding {
	port, err := strconv.Atoi(d.Target[strings.LastIndexByte(d.Target, ':')+1:])
	if err != nil || port < 1 || port > 65535 {
		f := facts.Refused(report.Certain, d.Axis, d.Target, "inbound", cause, grants.Grant{})
		f.Hint.Explain, f.Fix = report.PageInbound, "give the server a fixed port, as its documentation says, and grant that"
		return f
	}
	return noPort(c, report.Certain, port, report.Blocked(d, "")+" at port "+strconv.Itoa(port))
}

// textUnproxied returns the finding about a host in a text if the program that failed connects by
// itself: it is known to, or the policy grants the host and the error is that of a lookup or of the
// sandbox, to neither of which a program that uses the proxy comes.
func textUnproxied(c *facts.Case, ref said.Reference, target string) (f facts.Finding, ok bool) {
	if !c.Mac() || len(c.Profile.Net) == 0 || IsLoopback(ref.Name) {
		return f, false
	}
	granted := grantsHost(c.Profile.Net, ref.Name, ref.Port, ref.Scheme)
	switch {
	case connectsItself(c):
	case granted && ref.Direct:
	default:
		return f, false
	}
	if granted {
		return facts.Finding{
			Note: "the policy grants " + c.Quote(target) + ", but the program does not use the session's proxy: " + noProxy,
			Fix:  useIt, NoLine: true, AboutPolicy: true, Hint: report.Hint{Explain: report.PageNetProxy},
		}, true
	}
	f = facts.Refused(report.Likely, policy.AxisNet, target, "connect", "the server's message names the host "+c.Quote(target)+": "+noProxy, grants.Grant{})
	f.Hint.Explain = report.PageNetProxy
	return f.Unfixable(useIt), true
}

// connectsItself reports whether the program that failed is known to use no proxy.
func connectsItself(c *facts.Case) bool {
	if len(c.Profile.Argv) > 0 && slices.Contains(unproxiedPrograms, filepath.Base(c.Profile.Argv[0])) {
		return true
	}
	text := c.Evidence.Text
	if text == "" {
		text = strings.Join(c.Evidence.Stderr, "\n")
	}
	text = strings.ToLower(text)
	return said.ContainsAny(text, unproxiedWords) || slices.ContainsFunc(unproxiedPrograms, func(name string) bool {
		return strings.HasPrefix(text, name+": ")
	})
}
