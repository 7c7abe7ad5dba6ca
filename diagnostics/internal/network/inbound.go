package network

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// randomPorts is the first port that a kernel may choose for a program that asks for any.
const randomPorts = 32768

// Awaited returns the finding that the server waits for a connection from outside, as after a login
// in the browser, and that no port leads in: the lines name a port at which a program of the jail
// listens, or it listens at one, and they tell of a login.
func Awaited(c *facts.Case, lines []string) (f facts.Finding, ok bool) {
	if c.Evidence.Profile == nil || c.Evidence.Start != nil {
		return f, false
	}
	open := Listening(c)
	isLogin := func(line string) bool {
		return words.ContainsAny(strings.ToLower(line), []string{"browser", "login", "log in", "sign in", "authoriz", "oauth", "callback", "redirect"})
	}
	if c.Evidence.Exit != nil && len(lines) > 0 && words.OwnFault(lines[len(lines)-1]) && !isLogin(lines[len(lines)-1]) {
		return f, false
	}
	namesPort := func(line string) bool {
		return words.ContainsAny(line, []string{"localhost:", "127.0.0.1:", "[::1]:"})
	}
	for _, line := range lines {
		if strings.Contains(strings.ToLower(line), "in use") || words.HasWord(line, "EADDRINUSE") {
			continue
		}
		for _, port := range open {
			switch {
			case !words.HasNumber(line, port):
			case slices.Contains(c.Profile.Inbound, port):
				return loginPending(c, port), true
			default:
				return awaits(c, port), true
			}
		}
	}
	if len(open) == 1 && !slices.Contains(c.Profile.Inbound, open[0]) && slices.ContainsFunc(lines, isLogin) && !slices.ContainsFunc(lines, namesPort) {
		return awaits(c, open[0]), true
	}
	return f, false
}

func awaits(c *facts.Case, port int) facts.Finding {
	return noPort(c, report.Likely, port, "the server waits for a connection to its port "+strconv.Itoa(port)+", and no port leads into the jail")
}

// Listens returns the finding that a server which does not answer listens at its only port, which
// nothing outside can reach.
func Listens(c *facts.Case) (f facts.Finding, ok bool) {
	open := slices.DeleteFunc(Listening(c), func(port int) bool { return slices.Contains(c.Profile.Inbound, port) })
	if c.Evidence.Timeout == 0 || len(open) != 1 {
		return f, false
	}
	port := strconv.Itoa(open[0])
	f = noPort(c, report.Possible, open[0], "")
	f.Grant, f.Refused = grants.Grant{}, false
	f.Note = "the server listens at port " + port + ", and no port leads into the jail: if it waits for a browser or another program, that cannot reach it"
	return f, true
}

// Listening returns the ports at which programs of the jail listen.
func Listening(c *facts.Case) []int {
	if c.Evidence.Listening == nil {
		return nil
	}
	ports, _ := c.Evidence.Listening()
	return slices.DeleteFunc(slices.Clone(ports), func(port int) bool {
		// The jail itself listens at the ports of granted hosts.
		return port == 53 || slices.ContainsFunc(c.Profile.Net, func(r policy.NetRule) bool { return r.Allow && slices.Contains(r.Ports(), port) })
	})
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
	return slices.ContainsFunc(c.Profile.Argv, func(word string) bool { return words.HasNumber(word, port) })
}

// loginPending is about a port that leads in: only the login is missing.
func loginPending(c *facts.Case, port int) facts.Finding {
	return withLogins(c, facts.Finding{
		Note: "the server waits for a login in the browser, whose port " + strconv.Itoa(port) + " leads in",
		Fix:  "open the URL that the server printed in a browser of this machine, and log in",
		Hint: report.Hint{Attribution: report.Likely, Explain: report.PageInbound}, AboutPolicy: true,
	})
}
