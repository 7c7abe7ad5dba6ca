package diagnostics

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/network"
)

// addLoopback adds to the candidates of the text the ports of the jail's loopback that the server
// tried in vain and at which this host listens. Such a port is the likely cause if the text has no
// other cause. absent is a note about a port at which this host does not
// listen either, if the text is about a connection and names nothing.
func addLoopback(c *facts.Case, likely candidates, lines []string, own int, cleared bool) (all candidates, absent *facts.Finding) {
	found, old := network.Unanswered(c)
	named := slices.ContainsFunc(likely, func(f candidate) bool { return f.distance < own })
	host := slices.ContainsFunc(likely, func(f candidate) bool { return f.distance < own && f.Grant.Host != "" })
	words := failureWords(c, lines, own)
	connection, other := network.About(words)
	connection = connection || c.Evidence.Timeout > 0
	for i, f := range found {
		known := slices.ContainsFunc(likely, func(l candidate) bool { return network.SamePort(l.Finding, f) })
		switch {
		case known, !connection && (other || old[i]), cleared, host: // the words say what was not reached
		case !f.Refused:
			if connection && !named && absent == nil {
				absent = &f
			}
		case named:
			likely = append(likely, candidate{Finding: f, distance: len(lines) + i})
		default:
			likely = append(likely, candidate{Finding: f, distance: -1, named: true, connection: connection && len(words) > 0})
		}
	}
	return likely, absent
}

// failureWords returns the lines that are words of the failure: those of the answer, and without an
// answer the last ones of the process.
func failureWords(c *facts.Case, lines []string, own int) []string {
	if serverAnswered(c) && !c.Evidence.Started && strings.TrimSpace(c.Evidence.Text) == "" {
		return nil
	}
	return lines[:min(own, len(lines))]
}
