package resolve

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// warnUseless warns of rules that grant nothing and take nothing away. Most of them lack
// the key that grants. A rule that refuses a part of another rule's grant is not useless, nor is a
// refusal in the layers below a project's file, which holds for that file.
func (b *resolver) warnUseless() {
	const granted = "%s grants nothing, and there is no wider rule that it could take something away from: write %s"
	for _, n := range b.targets {
		if denied := strings.HasPrefix(n.rule.Where, "--deny "); denied && n.rule.Rights() == 0 {
			if e, ok := b.entries.find(path.Dir(n.canonical)); !ok || e.Rights == 0 || e.Origin == policy.OriginBaseline || policy.Within(n.canonical, "/tmp") || policy.Within(n.canonical, "/dev/shm") {
				b.warnings.warn("useless-rule", n.rule.Where, "%s takes nothing away: the server has no more there than every jail has", show.TOML(n.rule.Path))
			}
			continue
		}
		if l := b.p.Lower; l != nil && l.Has(n.rule) {
			continue
		}
		if n.rule.Rights() != 0 || policy.Within(n.canonical, "/tmp") || policy.Within(n.canonical, "/dev/shm") { // the jail has its own
			continue
		}
		if e, ok := b.entries.find(path.Dir(n.canonical)); !ok || e.Rights == 0 {
			b.warnings.warn("useless-rule", n.rule.Where, granted, "path = "+show.TOML(n.rule.Path), "read = true, or write = true as well")
		}
	}
	for _, r := range b.p.Net {
		takes := func(wider policy.NetRule) bool { return wider.Allow && hostsOverlap(wider.Host, r.Host) }
		below := b.p.Lower != nil && slices.Contains(b.p.Lower.Hosts, r.Where)
		if !r.Allow && !below && !slices.ContainsFunc(b.p.Net, takes) {
			b.warnings.warn("useless-rule", r.Where, granted, "host = "+show.TOML(r.Host), "allow = true")
		}
	}
}

func hostsOverlap(a, b string) bool {
	covers := func(wild, host string) bool {
		suffix, ok := strings.CutPrefix(wild, "*")
		return ok && strings.HasSuffix(strings.TrimPrefix(host, "*"), suffix)
	}
	return a == b || covers(a, b) || covers(b, a)
}

// warnSpecialHosts warns of rules that grant a host of a private network or a cloud's
// credentials. "*" and wide wildcards do not grant such addresses.
func (b *resolver) warnSpecialHosts(rules []policy.NetRule) {
	for _, r := range rules {
		switch what := r.SpecialTarget(); {
		case !r.Allow || what == "":
		case what == policy.ReasonMetadata:
			b.warnings.warn("metadata-host", r.Where, "host = %s %s: the server can get them, and act as this machine", show.TOML(r.Host), what)
		default:
			b.warnings.warn("private-host", r.Where, "host = %s %s: services there may trust all connections from this machine", show.TOML(r.Host), what)
		}
	}
}
