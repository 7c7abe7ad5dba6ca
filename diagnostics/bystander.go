package diagnostics

import (
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/network"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// wordsOf is what the text of a failure says of its cause.
type wordsOf struct {
	failing bool // it says that something failed
	ownsUp  bool // it names a cause that is no refusal
	files   bool // it names a fault of a file or a program
	connect bool // it names a fault of a connection
	network bool // it does, and names no host that is granted
}

// readWords reads the text of a failure: the first own lines. failed is the line that says what
// failed.
func readWords(c *facts.Case, lines []string, failed string) (w wordsOf) {
	w.failing = said.SaysFailure(failed) && c.Evidence.Timeout == 0
	w.ownsUp = w.failing && said.NamesOwnFault(failed)
	granted, certificate := false, false
	for _, line := range lines {
		switch fault, _ := said.MatchFault(line); fault {
		case said.NoFault:
		case said.Network:
			w.connect = true
		default:
			w.files = true
		}
		certificate = certificate || said.DistrustsAuthority(line)
	}
	w.connect = w.connect || said.FailureOf(lines).Network
	for _, ref := range said.References(lines, c.Escaped) {
		granted = granted || ref.Kind == said.Host && network.Analyze(c, ref).Note != ""
	}
	w.ownsUp = w.ownsUp || w.failing && (certificate || granted && w.connect)
	w.network = w.connect && !granted && !certificate
	return w
}

// isIncidental reports whether a refusal on record, which the text of the failure does not name, is
// no cause: the words fit another one. docs/diagnoses.md "Stage and attribution" has the rules.
func (w wordsOf) isIncidental(f candidate, elsewhere bool) bool {
	fits := true
	switch f.Hint.Axis {
	case policy.AxisNet:
		fits = w.network
	case policy.AxisFs, policy.AxisProcess:
		fits = w.files
	case policy.AxisIPC:
		fits = w.files || w.connect
	case policy.AxisLimits:
		return false
	}
	switch {
	case f.harmless:
		return true
	case fits || !w.failing:
		return false
	case f.broken: // what the server then says has many forms
		return w.ownsUp || elsewhere
	}
	return w.ownsUp || elsewhere || f.background || f.Grant.IsZero()
}

// markIncidental marks the candidates that only happened beside the failure. likely are those that
// text names.
func markIncidental(c *facts.Case, all, likely candidates, lines []string, own int, failed string) {
	w := readWords(c, lines[:own], failed)
	reached := slices.ContainsFunc(likely, func(l candidate) bool { return l.connection })
	for i, f := range all {
		namedHere := f.named && f.distance < own
		elsewhere := slices.ContainsFunc(likely, func(l candidate) bool { return l.distance < own && l.Hint.Axis != f.Hint.Axis })
		switch {
		case namedHere:
		case f.Hint.Attribution != Certain:
			all[i].incidental = w.ownsUp // older words
		case reached && f.Hint.Axis != policy.AxisNet && !f.named: // the text is about a connection
			all[i].incidental = true
		default:
			all[i].incidental = w.isIncidental(f, elsewhere) || f.Hint.Axis == policy.AxisNet &&
				(namesAnotherCause(likely, lines, own) || f.Hint.Target == "" && len(likely) > 0)
		}
	}
}

// split returns the candidates that may be the cause, and those that only happened beside it.
func (all candidates) split() (causes, aside candidates) {
	for _, f := range all {
		if f.incidental {
			aside = append(aside, f)
		} else {
			causes = append(causes, f)
		}
	}
	return causes, aside
}

// tellAside adds what the jail refused beside the failure to a diagnosis with another cause, or
// without one.
func tellAside(d *Diagnosis, c *facts.Case, aside candidates) {
	if d.Cause != "" && len(d.Hints) == 0 && len(aside) > 0 {
		d.Hints = []Hint{{Attribution: d.Attribution, Cause: d.Cause, Fix: d.Fix, Explain: d.Explain}}
	}
	for _, f := range aside {
		h := hint(c, f.Finding)
		if h.Attribution == Certain { // it was refused; that it did harm is not
			h.Attribution = Possible
		}
		d.Hints = append(d.Hints, h)
	}
}

// isHarmless reports whether programs do without what was refused, as a rule, and do not tell.
func isHarmless(d policy.Denial) bool {
	switch d.Axis {
	case policy.AxisNet:
		host, _, _, _ := said.SplitEndpoint(d.Target)
		return isPublicResolver(host) || isOfBrowser(host)
	case policy.AxisFs:
		writes := said.RightsOf(d.Operation)&policy.Write != 0
		return policy.Within(d.Target, "/proc") || policy.Within(d.Target, "/sys") ||
			writes && (policy.Within(d.Target, "/var/cache") || hasPart(d.Target, "__pycache__") || strings.HasSuffix(d.Target, ".pyc") || hasPart(d.Target, "fontconfig") || strings.HasPrefix(path.Base(d.Target), ".uuid"))
	}
	return false
}

func harmlessText(d policy.Denial) string {
	if host, _, _, _ := said.SplitEndpoint(d.Target); d.Axis == policy.AxisNet && isOfBrowser(host) {
		return "no line is proposed for it: browsers ask it for updates and reports of their own, and do without"
	}
	if d.Axis == policy.AxisNet {
		return "no line is proposed for it: programs connect to a public DNS server to learn their own address, and do without"
	}
	return "no line is proposed for it: programs do without it"
}

func hasPart(name, part string) bool { return slices.Contains(strings.Split(name, "/"), part) }

// publicResolvers are addresses to which programs connect by UDP, in order to learn their own address
// or whether there is a network. No packet is sent.
var publicResolvers = []string{
	"8.8.8.8", "8.8.4.4", "1.1.1.1", "1.0.0.1", "9.9.9.9", "149.112.112.112", "208.67.222.222", "208.67.220.220", "114.114.114.114", "223.5.5.5",
	"2001:4860:4860::8888", "2001:4860:4860::8844", "2606:4700:4700::1111", "2606:4700:4700::1001", "2620:fe::fe", "2001:4860:4860::", "2001:4860:4860::64",
	"10.255.255.255", "10.254.254.254", "192.0.2.1",
}

func isPublicResolver(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && slices.Contains(publicResolvers, addr.Unmap().String())
}

// browserHosts are hosts that a browser connects to without a request of a page: for updates, say.
var browserHosts = []string{
	"update.googleapis.com", "clients1.google.com", "clients2.google.com", "clients4.google.com", "clientservices.googleapis.com", "android.clients.google.com", "mtalk.google.com",
	"safebrowsing.googleapis.com", "optimizationguide-pa.googleapis.com", "content-autofill.googleapis.com", "edgedl.me.gvt1.com", "redirector.gvt1.com",
	"detectportal.firefox.com", "push.services.mozilla.com", "firefox.settings.services.mozilla.com", "content-signature-2.cdn.mozilla.net",
}

func isOfBrowser(host string) bool { return slices.Contains(browserHosts, strings.ToLower(host)) }

// isHabitual reports whether a host is one that programs ask beside their work: for their own
// updates, or to count and report.
func isHabitual(host string) bool {
	for _, label := range strings.Split(strings.ToLower(host), ".") {
		switch label {
		case "telemetry", "analytics", "metrics", "stats", "tracking", "update", "updates", "update-check", "autoupdate", "crash", "crashes", "crashreporting",
			"sentry", "posthog", "segment", "mixpanel", "amplitude", "statsig", "statsigapi", "bugsnag", "rollbar", "datadoghq", "newrelic", "honeycomb", "scarf", "launchdarkly", "google-analytics", "googletagmanager":
			return true
		}
	}
	return slices.Contains([]string{"dl.deno.land", "bun.sh"}, strings.ToLower(host))
}
