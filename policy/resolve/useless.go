package resolve

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// useless warns of rules that grant nothing and take nothing away: in most of them the
// key that grants was forgotten. It goes by what the rules are about, so a rule that
// refuses a part of what another one grants is left alone.
func (b *builder) useless() {
	const granted = "%s grants nothing, and there is no wider rule that it could take something away from: write %s"
	for _, n := range b.named {
		if n.rule.Rights() != 0 || policy.Within(n.canonical, "/tmp") || policy.Within(n.canonical, "/dev/shm") { // which are the jail's own
			continue
		}
		if e, ok := b.find(path.Dir(n.canonical)); !ok || e.Rights == 0 {
			b.warn("useless-rule", n.rule.Where, granted, "path = "+policy.TomlString(n.rule.Path), "read = true, or write = true as well")
		}
	}
	for _, r := range b.p.Net {
		takes := func(wider policy.NetRule) bool { return wider.Allow && overlap(wider.Host, r.Host) }
		if !r.Allow && !slices.ContainsFunc(b.p.Net, takes) {
			b.warn("useless-rule", r.Where, granted, "host = "+policy.TomlString(r.Host), "allow = true")
		}
	}
}

// overlap tells whether two hosts of rules have something in common.
func overlap(a, b string) bool {
	covers := func(wild, host string) bool {
		suffix, ok := strings.CutPrefix(wild, "*")
		return ok && strings.HasSuffix(strings.TrimPrefix(host, "*"), suffix)
	}
	return a == b || covers(a, b) || covers(b, a)
}
