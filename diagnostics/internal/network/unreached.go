package network

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// connectionWords are the words of programs, in lower case, about a connection that ends or does
// not answer. The jail accepts a connection to a granted host before this machine has reached that
// host. So the server sees a refused connection as one that ends, too.
var connectionWords = []string{
	"connection", "connect", "econnreset", "socket hang up", "hung up", "timed out", "timeout", "time-out", "eof",
	"tls", "ssl", "network", "resolve", "unreachable", "reset by peer", "closed by",
}

// Unreached returns the finding for a granted host that this machine could not reach, if the
// text of the failure names the host or is about a connection, or the server did not answer in
// time. own are the lines that are text of the failure.
func Unreached(c *facts.Case, own []string) (f facts.Finding, ok bool) {
	about := c.Evidence.Timeout > 0 || slices.ContainsFunc(own, func(line string) bool {
		fault, _ := said.MatchFault(line)
		return fault == said.Network || said.ContainsAny(strings.ToLower(line), connectionWords)
	})
	var latest *policy.HostFailure
	for i := range c.Evidence.HostFailures {
		h := &c.Evidence.HostFailures[len(c.Evidence.HostFailures)-1-i] // the latest is the last
		named := slices.ContainsFunc(own, func(line string) bool { return len(h.Host) > 2 && strings.Contains(line, h.Host) })
		if named {
			latest = h
			break
		}
		if about && latest == nil {
			latest = h
		}
	}
	if latest == nil {
		return f, false
	}
	verb := "connect to it"
	if latest.Port == 0 {
		verb = "resolve it"
	}
	target := c.Quote(said.Endpoint(latest.Host, latest.Port))
	return facts.Finding{
		Note: target + " is granted; this machine could not " + verb + ": " + show.Line(c.Evidence.Redactor.Redact(latest.Answer)),
		Fix:  "no line of a policy changes this: see whether this machine reaches " + target + " without mcp-jail",
		Hint: report.Hint{Explain: report.PageNetUnreachable}, AboutPolicy: true, NoLine: true,
	}, true
}
