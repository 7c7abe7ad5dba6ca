package analysis

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// AnalyzeNetwork analyzes a denial of the jail's network.
func AnalyzeNetwork(c *Case, d policy.Denial, cause string) Finding {
	f := causeOfNetDenial(c, d, cause)
	if f.Hint.Explain == "" {
		f.Hint.Explain = diagnostics.PageOfReason(d.Reason)
	}
	return f
}

func causeOfNetDenial(c *Case, d policy.Denial, cause string) Finding {
	host, port, scheme, ok := words.SplitEndpoint(d.Target)
	if !ok {
		return Refused(diagnostics.Certain, d.Axis, d.Target, d.Operation, cause, change.Object{}).Unfixable("no rule grants this")
	}
	host = loopbackName(host)
	if d.Detail != "" && d.Reason != "" && d.Reason != policy.DeniedNotGranted {
		cause += ": " + show.Cut(show.Line(c.Evidence.Redactor.Redact(d.Detail)), diagnostics.MaxCause/2)
	}
	refusal := func(fix string) Finding {
		f := Refused(diagnostics.Certain, d.Axis, words.Endpoint(host, port), "connect", cause, change.Object{})
		f.Fix = fix
		return f
	}
	switch d.Reason {
	case policy.DeniedAddress:
		return analyzeAddressDenial(c, d, host, port, cause)
	case policy.DeniedWrongName:
		return refusal("a connection has to name the granted host in TLS and in HTTP. Another host that it names needs its own rule")
	case policy.DeniedWrongScheme:
		return analyzeSchemeDenial(c, d, host, port, cause)
	case policy.DeniedAmbiguous:
		return refusal("").Unfixable("no rule grants this: two readers could understand the request differently")
	case policy.DeniedRequest:
		return analyzeRequestDenial(c, d, host, port, cause)
	case policy.DeniedSecret:
		return refusal("a secret is inserted only into header fields for credentials: to allow another field, write its name beside env as header = \"NAME\"")
	case policy.DeniedLeak:
		return refusal("have the server send the request without it. leaks = \"warn\" lets such requests pass, with a warning")
	case policy.DeniedLimit:
		return analyzeNetLimit(c, d, host, port, cause)
	case policy.DeniedUnsupported:
		return refusal("to see what is missing for it: " + c.PlanCommand())
	}
	if d.Operation == "send" {
		return refusal("").Unfixable("no rule grants UDP: reach a granted host by TCP (QUIC falls back to it)")
	}
	if absent, ok := notOnHost(c, host, port); ok {
		return refusal("").Unfixable(absent.Note + ": " + absent.Fix)
	}
	return checkRefused(c, attributeHost(diagnostics.Certain, host, port, scheme, cause))
}

// checkRefused removes the grant of what another rule refuses: docs/policy.md "Network rules".
func checkRefused(c *Case, f Finding) Finding {
	n := f.Object
	if n.Net.Host == "" {
		return f
	}
	var by policy.NetRule
	for _, port := range n.Net.Ports() {
		scheme := n.Net.Scheme
		if scheme == "" {
			scheme = map[int]string{80: "http", 443: "https"}[port]
		}
		r, ok := policy.MatchNet(append(slices.Clone(c.Profile.Net), n.Net), n.Net.Host, scheme, port, "", "")
		if ok {
			return f
		}
		by = r
	}
	f.Object = change.Object{}
	f.Fix = "the rule at " + by.Where + " refuses it, whatever other rules say: change that rule"
	return f
}

// analyzeAddressDenial analyzes a granted name that resolves to an address to which no
// name may lead. The detail is "ADDRESS is …", or several of them with commas.
func analyzeAddressDenial(c *Case, d policy.Denial, host string, port int, cause string) Finding {
	f := Refused(diagnostics.Certain, d.Axis, words.Endpoint(host, port), "connect", cause, change.Object{})
	first, _, _ := strings.Cut(d.Detail, ", ")
	name, reason, _ := strings.Cut(first, " ")
	addr, err := netip.ParseAddr(name)
	if err != nil || strings.Contains(reason, "refused by a rule") {
		f.Fix = "a rule of the policy refuses the address: change that rule"
		return f
	}
	n := change.Object{Net: policy.NetRule{Host: loopbackName(name), Allow: true}}
	for _, r := range c.Profile.Net {
		if r.Allow && r.Covers(host, port) {
			n.Net.Scheme, n.Net.Port = r.Scheme, r.Port
		}
	}
	// It may be refused even so: by another rule, or as an IPv4 address inside an IPv6 one.
	rule := n.Net
	if _, ok := policy.CheckAddress(append(slices.Clone(c.Profile.Net), rule), addr, rule.Ports()[0], false); !ok {
		f.Fix = "a name does not grant this address, and no rule can grant it"
		return f
	}
	f.Object, f.Chosen = n, true
	f.Fix = name + " " + show.Line(reason) + ", and the owner of the name " + c.Name(host) + " decides which address it leads to: to allow it, name the address in a rule"
	return f
}

func analyzeSchemeDenial(c *Case, d policy.Denial, host string, port int, cause string) Finding {
	scheme := "tcp"
	switch {
	case strings.HasSuffix(d.Detail, " TLS"):
		scheme = "https"
	case strings.HasSuffix(d.Detail, "speaks HTTP"):
		scheme = "http"
	}
	f := checkRefused(c, attributeHost(diagnostics.Certain, host, port, scheme, cause))
	if f.Object.Net.Scheme == "tcp" {
		f.Fix = "mcp-jail does not inspect connections of a rule with scheme = \"tcp\""
	}
	return f
}

// analyzeRequestDenial analyzes a request that a rule about paths or methods refused. The
// detail is "METHOD /path: …".
func analyzeRequestDenial(c *Case, d policy.Denial, host string, port int, cause string) Finding {
	f := Refused(diagnostics.Certain, d.Axis, words.Endpoint(host, port), "connect", cause, change.Object{})
	var near []string
	for _, r := range c.Profile.Net {
		if !r.Covers(host, port) {
			continue
		}
		where := r.Where
		for _, line := range r.TOMLFields() {
			if key, _, _ := strings.Cut(line, " ="); key == "path_prefix" || key == "methods" {
				where += ", " + line
			}
		}
		near = append(near, where)
	}
	return f.Unfixable("its rules are at " + strings.Join(near, "; at ") + ": widen one, or add one for this request")
}

func analyzeNetLimit(c *Case, d policy.Denial, host string, port int, cause string) Finding {
	f := Finding{}.Unfixable("no rule raises this: name the hosts one by one instead of by a wildcard")
	if strings.Contains(d.Detail, "connections are open") {
		f = Finding{}.Unfixable("no rule raises this: the server must close connections before it opens more")
	}
	f.Refused = true
	f.Hint = diagnostics.Hint{Attribution: diagnostics.Certain, Axis: d.Axis, Target: words.Endpoint(host, port), Missing: "limit", Cause: cause}
	return f
}

// NamedHost returns the finding that the policy does not grant a host which a failing line names. It
// returns the zero finding for one that it grants, or that is not there on this machine either.
func NamedHost(c *Case, n words.Name) Finding {
	name := loopbackName(n.Text)
	target := words.Endpoint(name, n.Port)
	if grantsHost(c.Profile.Net, name, n.Port, n.Scheme) {
		if c.mac() && n.Fault == words.Network { // no program that uses the proxy looks a name up
			return Finding{
				Note: c.Name(target) + " is granted, but the program connects by itself, and on macOS hosts are reached by the session's proxy only",
				Fix:  "no rule changes this: have it use the proxy in HTTPS_PROXY, or in ALL_PROXY by SOCKS5",
				Hint: diagnostics.Hint{Explain: diagnostics.PageNetProxy},
			}
		}
		return Finding{}
	}
	if _, absent := notOnHost(c, name, n.Port); absent {
		return Finding{}
	}
	addr, err := netip.ParseAddr(name)
	switch {
	case err != nil && n.Port == 0 && n.Scheme == "" && !strings.Contains(name, ".") && !IsLoopback(name) && !slices.Contains(c.Profile.Argv, name):
		return Finding{} // a word of prose; what the server looks up is on record
	case err == nil && addr.IsMulticast():
		return Finding{} // a row of known programs says it
	case err == nil && !IsLoopback(name) && grantsNames(c.Profile.Net):
		return Finding{} // a granted name may lead to this address
	case IsLoopback(name) && n.Port == 0:
		return Finding{}
	}
	cause := c.Who() + " may not reach " + c.Name(target)
	return checkRefused(c, attributeHost(diagnostics.Likely, name, n.Port, n.Scheme, cause))
}

func attributeHost(sure diagnostics.Attribution, host string, port int, scheme, cause string) Finding {
	// The port that was refused, alone. Of a lookup none is known, and the rule is for 80 and 443.
	n := change.Object{Net: policy.NetRule{Host: host, Port: port, Allow: true}}
	switch {
	case port == 0:
		n.Net.Port = map[string]int{"http": 80, "https": 443}[scheme]
	case scheme == "tcp", port != 80 && port != 443:
		n.Net.Scheme = cmp.Or(scheme, "tcp")
	}
	if _, err := policy.NormalizeHost(host); err != nil {
		n = change.Object{} // no rule can name it
	}
	f := Refused(sure, policy.AxisNet, words.Endpoint(host, port), "connect", cause, n)
	switch addr, err := netip.ParseAddr(host); {
	case IsLoopback(host):
		f.Fix = host + " is this machine: grant it only for a service that you know"
	case err == nil && !addr.IsPrivate() && !addr.IsLinkLocalUnicast():
		f.Fix = "prefer the host's name to its address"
	}
	return f
}

// grantsHost evaluates the network rules for what a text tells of a connection. A rule for
// some requests counts as a grant of the host, because the text does not name the refused
// path or method. An unknown port matches any granted port.
func grantsHost(rules []policy.NetRule, host string, port int, scheme string) bool {
	var open []policy.NetRule
	ports := []int{port}
	for _, r := range rules {
		if (r.PathPrefix != "" || r.Methods != nil) && !r.Allow {
			continue
		}
		r.PathPrefix, r.Methods = "", nil
		open = append(open, r)
		if port == 0 {
			ports = append(ports, r.Ports()...)
		}
	}
	return slices.ContainsFunc(ports, func(p int) bool {
		_, ok := policy.MatchNet(open, host, scheme, p, "", "")
		return ok
	})
}

func grantsNames(rules []policy.NetRule) bool {
	return slices.ContainsFunc(rules, func(r policy.NetRule) bool {
		_, err := netip.ParseAddr(r.Host)
		return err != nil && r.Allow && r.Host != "localhost"
	})
}

// Unreached returns the finding for a granted host that this machine could not reach, if the failing
// lines name it or tell of a connection, or the server did not answer in time.
func Unreached(c *Case, lines []string) (f Finding, ok bool) {
	fault := words.FaultOf(lines)
	about := c.Evidence.Timeout > 0 || fault == words.Network || slices.ContainsFunc(lines, words.IsAboutConnection)
	var found *policy.HostFailure
	for i := range c.Evidence.HostFailures { // the latest is the last
		h := &c.Evidence.HostFailures[len(c.Evidence.HostFailures)-1-i]
		if slices.ContainsFunc(lines, func(line string) bool { return len(h.Host) > 2 && strings.Contains(line, h.Host) }) {
			found = h
			break
		}
		if about && found == nil {
			found = h
		}
	}
	if found == nil {
		return f, false
	}
	verb := "connect to it"
	if found.Port == 0 {
		verb = "resolve it"
	}
	target := c.Name(words.Endpoint(found.Host, found.Port))
	return Finding{
		Note: target + " is allowed, and this machine could not " + verb + ": " + show.Line(c.Evidence.Redactor.Redact(found.Answer)),
		Fix:  "no rule changes this: see whether this machine reaches " + target + " without mcp-jail",
		Hint: diagnostics.Hint{Explain: diagnostics.PageNetUnreachable},
	}, true
}

// Unanswered returns the findings for the ports of the jail's own loopback at which no program
// listened when the server connected, and at which one of this machine does. The latest comes first.
// They count unless the failing lines, which name no refused host, have another cause; those that
// the server tries also where nothing fails need lines about a connection, or none.
func Unanswered(c *Case, lines []string) (found []Finding) {
	fault := words.FaultOf(lines)
	host := slices.ContainsFunc(words.Names(lines), func(n words.Name) bool { return n.Kind == words.Host })
	connection := fault == words.Network || len(lines) == 0 || c.Evidence.Timeout > 0
	if host || !connection && (fault != words.NoFault || slices.ContainsFunc(lines, words.OwnFault)) {
		return nil
	}
	for _, u := range slices.Backward(c.Evidence.Unanswered) {
		if u.Background && !connection || grantsHost(c.Profile.Net, u.Host, u.Port, "") {
			continue
		}
		if listens, _ := c.Evidence.Host.Listens(u.Host, u.Port); listens && !slices.Contains(c.Profile.Inbound, u.Port) {
			cause := c.Who() + " tried " + c.Name(words.Endpoint(u.Host, u.Port)) + ". In the jail that is " + c.Who() + " itself; a program of this machine listens there"
			f := checkRefused(c, attributeHost(diagnostics.Likely, u.Host, u.Port, "", cause))
			f.Whole = f.Refused
			found = append(found, f)
		}
	}
	return found
}

// notOnHost returns the note for a port of the host's loopback that no rule grants, if no program of
// this host listens there. To grant it would change nothing.
func notOnHost(c *Case, host string, port int) (f Finding, ok bool) {
	if port == 0 || !IsLoopback(host) {
		return f, false
	}
	listens, known := c.Evidence.Host.Listens(host, port)
	if !known {
		return f, false
	}
	if slices.Contains(c.Profile.Inbound, port) {
		if c.Evidence.Host.Elsewhere(port) {
			return elsewhere(port), true
		}
		return Finding{
			Note: "port " + strconv.Itoa(port) + " leads from this machine into the jail, and the server itself does not listen there",
			Fix:  "the server must listen at the port before it connects to it",
		}, true
	}
	if listens {
		return f, false
	}
	return Finding{
		Note: "nothing listens on this machine either (port " + strconv.Itoa(port) + ")",
		Fix:  "start the service that the server looks for at " + c.Name(words.Endpoint(host, port)),
	}, true
}

// IsLoopback reports whether a host of a rule is the host itself.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// loopbackName returns "localhost" for the loopback addresses that a rule for it grants, and for
// those of no address, which lead there. It returns any other host unchanged.
func loopbackName(host string) string {
	addr, err := netip.ParseAddr(host)
	if addr = addr.Unmap(); err == nil && (addr == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || addr == netip.IPv6Loopback() || addr.IsUnspecified()) {
		return "localhost"
	}
	return host
}

// randomPorts is the first port that a kernel may choose for a program that asks for any.
const randomPorts = 32768

// Awaited returns the finding that the server waits for a connection from outside, as after a login
// in the browser, and that no port leads in: the lines name a port at which a program of the jail
// listens, or it listens at one, and they tell of a login. Or the lines name a port that leads to another
// session of this server.
func Awaited(c *Case, lines []string) (f Finding, ok bool) {
	if c.Evidence.Profile == nil || c.Evidence.Start != nil {
		return f, false
	}
	open := Listening(c)
	isLogin := func(line string) bool {
		return words.ContainsAny(strings.ToLower(line), []string{"browser", "login", "log in", "sign in", "authoriz", "oauth", "callback", "redirect"})
	}
	ownInbound := slices.ContainsFunc(open, func(port int) bool { return slices.Contains(c.Profile.Inbound, port) })
	for _, port := range c.Profile.Inbound {
		tells := func(line string) bool {
			return words.HasNumber(line, port) && words.ContainsAny(strings.ToLower(line), []string{"port", ":" + strconv.Itoa(port)}) || c.Evidence.Text == "" && isLogin(line)
		}
		if !ownInbound && slices.ContainsFunc(lines, tells) && c.Evidence.Host.Elsewhere(port) {
			return elsewhere(port), true
		}
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

func elsewhere(port int) Finding {
	return Finding{
		Note: "port " + strconv.Itoa(port) + " leads to the other session of this server, which has it",
		Fix:  "if that session waits for a login, finish it there. Or end that session, and restart this one",
		Hint: diagnostics.Hint{Attribution: diagnostics.Likely, Explain: diagnostics.PageInbound},
	}
}

func awaits(c *Case, port int) Finding {
	return noPort(c, diagnostics.Likely, port, "the server waits for a connection to its port "+strconv.Itoa(port)+", and no port leads into the jail")
}

// Listens returns the finding that a server which does not answer listens at its only port, which
// nothing outside can reach.
func Listens(c *Case) (f Finding, ok bool) {
	open := slices.DeleteFunc(Listening(c), func(port int) bool { return slices.Contains(c.Profile.Inbound, port) })
	if c.Evidence.Timeout == 0 || len(open) != 1 {
		return f, false
	}
	port := strconv.Itoa(open[0])
	f = noPort(c, diagnostics.Possible, open[0], "")
	f.Object, f.Refused = change.Object{}, false
	f.Note = "the server listens at port " + port + ", and no port leads into the jail: if it waits for a browser or another program, that cannot reach it"
	return f, true
}

// Listening returns the ports at which programs of the jail listen.
func Listening(c *Case) []int {
	return slices.DeleteFunc(slices.Clone(c.Evidence.Host.Listening()), func(port int) bool {
		// The jail itself listens at the ports of granted hosts.
		return port == 53 || slices.ContainsFunc(c.Profile.Net, func(r policy.NetRule) bool { return r.Allow && slices.Contains(r.Ports(), port) })
	})
}

func noPort(c *Case, sure diagnostics.Attribution, port int, cause string) Finding {
	f := Refused(sure, policy.AxisNet, "port "+strconv.Itoa(port), "inbound", cause, change.Object{Inbound: port})
	f.Hint.Explain = diagnostics.PageInbound
	if port >= randomPorts && !isWritten(c, port) {
		f.Fix = "if the server takes another port at each start, give it a fixed one first, as its documentation says"
	}
	return f
}

// isWritten reports whether the command line of the server has a port.
func isWritten(c *Case, port int) bool {
	return slices.ContainsFunc(c.Profile.Argv, func(word string) bool { return words.HasNumber(word, port) })
}

// loginPending is about a port that leads in: only the login is missing.
func loginPending(c *Case, port int) Finding {
	return Finding{
		Note: "the server waits for a login in the browser, whose port " + strconv.Itoa(port) + " leads in",
		Fix:  "open the URL that the server printed in a browser of this machine, and log in",
		Hint: diagnostics.Hint{Attribution: diagnostics.Likely, Explain: diagnostics.PageInbound},
	}
}
