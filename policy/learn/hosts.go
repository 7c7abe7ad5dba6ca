package learn

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// A link is where a connection leads.
type link struct {
	host   string
	port   int
	scheme string // "http", "https", "tcp" or "" where the server sent nothing that tells
}

func (l *learner) takeNet(o policy.Observation, by *tally) {
	k := keyOf(o)
	if o.Operation == "resolve" {
		if host, err := policy.NormalizeTarget(o.Target); err == nil {
			if l.named[host] == nil {
				l.named[host] = &tally{}
			}
			l.named[host].join(by)
			return
		}
	}
	host, port, ok := splitTarget(o.Target)
	switch {
	case o.Operation != "connect" && o.Operation != "request":
		l.left.add(k, Other, "", by)
	case !ok:
		l.left.add(k, Unwritable, "", by)
	case port == 53: // names are looked up by mcp-jail
		l.left.add(key{policy.AxisNet, "connect", link{host: host, port: port}.target()}, System, "", by)
	default:
		to := link{host, port, o.Scheme}
		if !slices.Contains([]string{"http", "https", "tcp"}, to.scheme) {
			to.scheme = ""
		}
		if l.hosts[to] == nil {
			l.hosts[to] = &tally{}
		}
		l.hosts[to].join(by)
	}
}

func (l *learner) addHosts() {
	reached := map[string]bool{}
	links := []link{}
	for to := range l.hosts {
		reached[to.host] = true
		if !l.isCovered(to) {
			links = append(links, to)
		}
	}
	for host, by := range l.named {
		reason, why := l.whyNoHost(host)
		if reason == "" && !reached[host] {
			reason = Unused
		}
		if reason != "" {
			l.left.add(key{policy.AxisNet, "resolve", host}, reason, why, by)
		}
	}
	slices.SortFunc(links, func(a, b link) int {
		if n := l.hosts[a].before(l.hosts[b]); n != 0 {
			return n
		}
		return strings.Compare(a.String(), b.String())
	})
	rules := []Rule{}
	for _, to := range links {
		reason, why := l.whyNoHost(to.host)
		if reason == "" && len(rules) >= maxHosts {
			reason = Capped
		}
		if reason != "" {
			l.left.add(key{policy.AxisNet, "connect", to.target()}, reason, why, l.hosts[to])
			continue
		}
		rules = append(rules, l.netRule(to))
	}
	slices.SortFunc(rules, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	l.rules = append(l.rules, rules...)
}

// whyNoHost returns why a host gets no rule, or "".
func (l *learner) whyNoHost(host string) (reason Reason, why string) {
	if slices.Contains(l.Hosts, host) {
		return "", ""
	}
	return whyNoHost(host)
}

// isCovered reports whether another connection to the host and port tells less of its protocol, so that
// its rule covers this one.
func (l *learner) isCovered(to link) bool {
	wider := []string{""}
	if to.scheme == "http" || to.scheme == "https" {
		wider = []string{"", "tcp"}
	} else if to.scheme == "" {
		return false
	}
	return slices.ContainsFunc(wider, func(s string) bool { return l.hosts[link{to.host, to.port, s}] != nil })
}

// netRule makes the rule of a connection. The port is left out where the scheme says it.
func (l *learner) netRule(to link) Rule {
	by := &tally{}
	by.join(l.hosts[to])
	for _, scheme := range []string{"http", "https", "tcp"} {
		if other := (link{to.host, to.port, scheme}); other != to && l.hosts[other] != nil && l.isCovered(other) {
			by.join(l.hosts[other])
		}
	}
	r := newRule(policy.AxisNet, to.String(), by)
	r.Net = &policy.NetRule{Host: to.host, Scheme: to.scheme, Port: to.port, Allow: true}
	if to.scheme == "https" && to.port == 443 || to.scheme == "http" && to.port == 80 {
		r.Net.Port = 0
	}
	return r
}

func (to link) target() string {
	if strings.Contains(to.host, ":") {
		return "[" + to.host + "]:" + strconv.Itoa(to.port)
	}
	return to.host + ":" + strconv.Itoa(to.port)
}

func (to link) String() string { return to.scheme + "://" + to.target() }

// whyNoHost returns why no rule grants a host by itself, or "".
func whyNoHost(host string) (reason Reason, why string) {
	if _, err := netip.ParseAddr(host); err == nil {
		return Address, ""
	}
	if IsLocal(host) {
		return Address, "a name of this machine or its network"
	}
	if of := inTable(telemetryHosts, host); of != "" {
		return Telemetry, of
	}
	if of := inTable(registryHosts, host); of != "" {
		return Registry, of
	}
	return "", ""
}

// IsLocal reports whether a host is an address, or a name that each machine or network can have for its own.
func IsLocal(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || !strings.Contains(host, ".") || (policy.NetRule{Host: host}).SpecialTarget() != "" ||
		slices.ContainsFunc([]string{".localhost", ".localdomain", ".local", ".internal", ".lan", ".home.arpa"}, func(end string) bool { return strings.HasSuffix(host, end) })
}

// inTable returns what the table says of a host or of a domain around it, or "".
func inTable(table map[string]string, host string) string {
	for name := host; ; {
		if of := table[name]; of != "" {
			return of
		}
		_, rest, ok := strings.Cut(name, ".")
		if !ok {
			return ""
		}
		name = rest
	}
}

// telemetryHosts are the hosts to which programs report their use and errors, and those below them. They
// are those of the documentation of each product: Sentry's data source names, PostHog's and Amplitude's
// ingestion hosts, Segment's tracking API, the Measurement Protocol of Google Analytics, the intake
// hosts of Datadog and New Relic. The host of a product's other API is not among them: a server may be
// there to use it.
var telemetryHosts = map[string]string{
	"ingest.sentry.io": "Sentry", "ingest.us.sentry.io": "Sentry", "ingest.de.sentry.io": "Sentry", "i.posthog.com": "PostHog", "app.posthog.com": "PostHog",
	"api.segment.io": "Segment", "cdn.segment.com": "Segment", "api.amplitude.com": "Amplitude", "api2.amplitude.com": "Amplitude", "api.eu.amplitude.com": "Amplitude", "api.lab.amplitude.com": "Amplitude",
	"google-analytics.com": "Google Analytics", "analytics.google.com": "Google Analytics", "googletagmanager.com": "Google Analytics", "app-measurement.com": "Google Analytics",
	"api.mixpanel.com": "Mixpanel", "api-js.mixpanel.com": "Mixpanel", "api-eu.mixpanel.com": "Mixpanel",
	"browser-intake-datadoghq.com": "Datadog", "browser-intake-datadoghq.eu": "Datadog", "http-intake.logs.datadoghq.com": "Datadog", "instrumentation-telemetry-intake.datadoghq.com": "Datadog", "trace.agent.datadoghq.com": "Datadog",
	"collector.newrelic.com": "New Relic", "nr-data.net": "New Relic", "notify.bugsnag.com": "Bugsnag", "sessions.bugsnag.com": "Bugsnag", "heapanalytics.com": "Heap", "scarf.sh": "Scarf",
	"events.statsigapi.net": "Statsig", "featureassets.org": "Statsig", "prodregistryv2.org": "Statsig", "events.launchdarkly.com": "LaunchDarkly", "logrocket.io": "LogRocket", "hotjar.com": "Hotjar", "dataplane.rudderstack.com": "RudderStack",
	"applicationinsights.azure.com": "Application Insights", "dc.services.visualstudio.com": "Application Insights", "vortex.data.microsoft.com": "Microsoft", "events.data.microsoft.com": "Microsoft",
	"telemetry.nextjs.org": "Next.js", "telemetry.vercel.com": "Vercel", "telemetry.astro.build": "Astro", "checkpoint.prisma.io": "Prisma", "checkpoint-api.hashicorp.com": "HashiCorp", "update.electronjs.org": "Electron",
}

// registryHosts are where package managers get packages, and look for newer versions.
var registryHosts = map[string]string{
	"registry.npmjs.org": "npm", "registry.yarnpkg.com": "Yarn", "registry.npmmirror.com": "npm", "npm.pkg.github.com": "npm", "npm.jsr.io": "JSR", "jsr.io": "JSR", "deno.land": "Deno",
	"pypi.org": "PyPI", "files.pythonhosted.org": "PyPI", "crates.io": "crates.io", "static.crates.io": "crates.io", "index.crates.io": "crates.io", "rubygems.org": "RubyGems", "proxy.golang.org": "Go", "sum.golang.org": "Go",
	"repo.maven.apache.org": "Maven", "repo1.maven.org": "Maven", "api.nuget.org": "NuGet", "packagist.org": "Packagist", "nodejs.org": "Node.js", "ghcr.io": "GitHub Packages", "registry-1.docker.io": "Docker Hub", "auth.docker.io": "Docker Hub",
}
