package diagnostics

import (
	"slices"
	"strings"

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

// unreachedHost returns the finding for a granted host that this machine could not reach, if the
// text of the failure names the host or is about a connection, or the server did not answer in
// time.
func (a *analyzer) unreachedHost(lines []string) (f finding, ok bool) {
	own := lines[:min(a.ownLines, len(lines))]
	about := a.ev.Timeout > 0 || slices.ContainsFunc(own, func(line string) bool {
		fault, _ := said.MatchFault(line)
		return fault == said.Network || said.ContainsAny(strings.ToLower(line), connectionWords)
	})
	var latest *policy.HostFailure
	for i := range a.ev.HostFailures {
		h := &a.ev.HostFailures[len(a.ev.HostFailures)-1-i] // the latest is the last
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
	target := a.quote(endpoint(latest.Host, latest.Port))
	return finding{
		note: target + " is granted; this machine could not " + verb + ": " + show.Line(a.ev.Redactor.Redact(latest.Answer)),
		fix:  "no line of a policy changes this: see whether this machine reaches " + target + " without mcp-jail",
		hint: Hint{Explain: PageNetUnreachable}, aboutPolicy: true,
	}, true
}
