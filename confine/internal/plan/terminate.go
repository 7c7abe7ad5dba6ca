package plan

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/probe"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Rules about requests, and secrets, take somebody who ends TLS: a program of its own
// (package tlsworker), with an authority that only this jail is made to believe.

// terminating is what a plan with such rules takes with it.
type terminating struct {
	Program string   // to be started; "" where there are no such rules
	Bundles []string // files with all authorities, the jail's own among them
	Own     string   // a file with that alone, or one of Bundles
}

// Variables that name a file of authorities to a program. The first adds to those
// that the program has, the others replace them.
const NodeAuthorities = "NODE_EXTRA_CA_CERTS"

var AuthorityVariables = []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"}

const (
	ownAuthority = "/etc/mcp-jail-ca.pem"
	ownBundle    = "/etc/mcp-jail-bundle.pem"
	BareBundle   = "mcp-jail-bundle.pem" // without mounts: in TMPDIR
)

// systemBundles are where systems keep all authorities in one file.
var SystemBundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
}

// asksForRequests tells whether rules depend on what is asked of a host, and not only
// on which it is.
func AsksForRequests(rules []policy.NetRule) bool {
	return slices.ContainsFunc(rules, policy.NetRule.NeedsInterception)
}

// terminate compiles for rules about requests.
func (c *compiler) terminate(o *spec.Order) {
	if !AsksForRequests(c.p.Net) {
		return
	}
	what := requestsOf(c.p.Net)
	if c.f.Terminator.Answer != probe.Yes {
		c.gap(Gap{
			Axis: policy.AxisNet, What: what, Why: "nobody can look at requests: " + c.f.Terminator.Detail,
			Fix: strings.Join(slices.DeleteFunc([]string{c.f.Terminator.Fix, `remove these keys, or accept that any request passes, and with the placeholder of a secret instead of its value, with waive = ["net"] (--waive net)`}, func(s string) bool { return s == "" }), ", or "),
		})
		return
	}
	c.holds(policy.AxisNet, "TLS ended by a process of its own, with an authority for this session and these names", "%s", what)
	if o.Bare {
		c.plan.Terminating = terminating{Program: c.f.Terminator.Detail, Bundles: []string{BareBundle}, Own: BareBundle}
		o.Files = append(o.Files, spec.MadeFile{Path: BareBundle})
		for _, name := range append([]string{NodeAuthorities}, AuthorityVariables...) {
			putVariable(o, name, BareBundle)
		}
		c.plan.Notes = append(c.plan.Notes, "a program that asks no variable which authorities to believe, and goes by the system's file alone, cannot reach the hosts whose requests are looked at")
		return
	}
	t := terminating{Program: c.f.Terminator.Detail, Own: ownAuthority}
	for _, name := range c.f.Bundles {
		if e, decided := c.p.Find(name); decided && e.Path == name {
			continue // the user's own
		}
		t.Bundles = append(t.Bundles, name)
	}
	if t.Bundles == nil {
		t.Bundles = []string{ownBundle}
	}
	if c.within(ownAuthority) {
		t.Own = t.Bundles[0] // no name can be made there
	}
	for _, name := range append(slices.Clone(t.Bundles), t.Own) {
		if !slices.ContainsFunc(o.Files, func(f spec.MadeFile) bool { return f.Path == name }) {
			o.Files = append(o.Files, spec.MadeFile{Path: name, Over: c.within(name)})
		}
	}
	putVariable(o, NodeAuthorities, t.Own)
	for _, name := range AuthorityVariables {
		putVariable(o, name, t.Bundles[0])
	}
	c.plan.Terminating = t
}
