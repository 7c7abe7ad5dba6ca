package network

import (
	"slices"
	"strconv"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// lastWords is how many of its last lines tell what a server did when it ended.
const lastWords = 5

// randomPorts is the first port that a kernel may choose for a program that asks for any.
const randomPorts = 32768

// AwaitsCallback returns the finding that the server waits for a connection from outside, as after a
// login in the browser, and that no port leads in. It is likely where the words say so and a program
// of the jail listens at the port. The words alone could name any port: they make it possible. The
// first own lines are text of the failure.
func AwaitsCallback(c *facts.Case, lines []string, own int) (f facts.Finding, ok bool) {
	ev := c.Evidence
	waits := ev.Timeout > 0 || ev.Waiting
	switch {
	case ev.Profile == nil || c.Windows() || ev.Start != nil || ev.Started, !waits && ev.Exit == nil && ev.Text == "":
		return f, false
	case waits: // its last lines may be about something else
		own = len(lines)
	case ev.Exit != nil:
		own = min(own, lastWords)
	default:
		lines = lines[:min(own, len(lines))]
	}
	words := said.FindCallback(lines)
	if !words.Waits || !said.FindCallback(lines[:min(own, len(lines))]).Waits {
		return f, false
	}
	open, known := listening(c)
	sure, port := report.Likely, 0
	for _, named := range words.Ports {
		if port == 0 && (!known || slices.Contains(open, named)) {
			port = named
		}
	}
	switch {
	case !known:
		sure = report.Possible
	case port == 0 && len(open) == 1:
		if port = open[0]; words.Ports != nil {
			sure = report.Possible
		}
	}
	if port == 0 {
		return f, false
	}
	if slices.Contains(c.Profile.Inbound, port) {
		return withLogins(c, loginPending(port)), true
	}
	return noPort(c, sure, port, "the server waits for a connection to its port "+strconv.Itoa(port)+", as after a login in the browser, and no port leads into the jail"), true
}

// Listens returns the finding that a server which does not answer listens at a port, which nothing
// outside can reach. It is never more than possible.
func Listens(c *facts.Case) (f facts.Finding, ok bool) {
	open, _ := listening(c)
	open = slices.DeleteFunc(open, func(port int) bool { return slices.Contains(c.Profile.Inbound, port) })
	if c.Evidence.Timeout == 0 || len(open) != 1 {
		return f, false
	}
	port := strconv.Itoa(open[0])
	f = noPort(c, report.Possible, open[0], "")
	f.Note = "the server listens at port " + port + ", and no port leads into the jail: if it waits for a browser or another program, that cannot reach it"
	return f, true
}

// listening returns the ports at which programs of the jail listen. known is false if that could not
// be found out.
func listening(c *facts.Case) (ports []int, known bool) {
	if c.Evidence.Listening == nil {
		return nil, false
	}
	if ports, known = c.Evidence.Listening(); !known {
		return nil, false
	}
	return slices.DeleteFunc(slices.Clone(ports), func(port int) bool {
		// The jail itself listens at the ports of granted hosts.
		return port == 53 || slices.ContainsFunc(c.Profile.Net, func(r policy.NetRule) bool { return r.Allow && slices.Contains(r.Ports(), port) })
	}), true
}

func noPort(c *facts.Case, sure report.Attribution, port int, cause string) facts.Finding {
	f := facts.Refused(sure, policy.AxisNet, "port "+strconv.Itoa(port), "inbound", cause, grants.Grant{Inbound: port})
	f.Hint.Explain = report.PageInbound
	if port >= randomPorts && !isWritten(c, port) {
		f.Fix = "if the server takes another port at each start, give it a fixed one first, as its documentation says"
	}
	return withLogins(c, f)
}

// withLogins adds where the server's logins of before are.
func withLogins(c *facts.Case, f facts.Finding) facts.Finding {
	if c.Evidence.Logins == nil {
		return f
	}
	if dir := c.Evidence.Logins(); dir != "" {
		f.Fix = report.Joined(f.Fix, "its logins of before are in your "+show.Line(dir)+": `mcp-jail wrap` copies them to its private HOME")
	}
	return f
}

// isWritten reports whether the command line of the server has a port.
func isWritten(c *facts.Case, port int) bool {
	return slices.ContainsFunc(c.Profile.Argv, func(word string) bool { return said.HasNumber(word, port) })
}

// loginPending is about a port that leads in: only the login is missing.
func loginPending(port int) facts.Finding {
	return facts.Finding{
		Note: "the server waits for a login in the browser, whose port " + strconv.Itoa(port) + " leads in",
		Fix:  "open the URL that the server printed in a browser of this machine, and log in",
		Hint: report.Hint{Attribution: report.Likely, Explain: report.PageInbound}, AboutPolicy: true,
	}
}
