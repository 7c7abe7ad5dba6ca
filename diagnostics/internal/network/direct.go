package network

import (
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/policy"
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
