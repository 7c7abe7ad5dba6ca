package plan

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Rules about requests, and secrets, need an interceptor: a separate program that terminates
// TLS (package tlsworker), with an authority that only this jail trusts.

// tlsPlan names the program and the files of a plan's interceptor.
type tlsPlan struct {
	Program   string   // its path; "" if no rule needs it
	CABundles []string // files with all authorities, including the jail's own
	CAFile    string   // a file with only the jail's own authority, or one of CABundles, or ""
}

// NodeAuthorities and AuthorityVariables name a file of authorities to a program. The file of
// NodeAuthorities adds to the authorities that the program has. The others replace them.
const NodeAuthorities = "NODE_EXTRA_CA_CERTS"

var AuthorityVariables = []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"}

const (
	ownAuthority = "/etc/mcp-jail-ca.pem"
	ownBundle    = "/etc/mcp-jail-bundle.pem"
	hostNSBundle = "mcp-jail-bundle.pem" // in the TMPDIR of a jail with host namespaces
)

// SystemBundles are the files where systems keep all authorities in one file.
var SystemBundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
}

// NeedsInterception reports whether rules depend on requests, and not only on their host.
func NeedsInterception(rules []policy.NetRule) bool {
	return slices.ContainsFunc(rules, policy.NetRule.NeedsInterception)
}

func (c *compiler) interceptTLS(o *spec.Spec) {
	if !NeedsInterception(c.p.Net) {
		return
	}
	what := requestsOf(c.p.Net)
	if c.f.TLSProgram.Answer != features.Yes {
		c.addGap(Gap{
			Axis: policy.AxisNet, What: what, Why: "requests cannot be inspected: " + c.f.TLSProgram.Detail,
			Fix: strings.Join(slices.DeleteFunc([]string{c.f.TLSProgram.Fix, `remove these keys, or accept with waive = ["net"] (--waive net) that every request passes, with the placeholder of a secret instead of its value`}, func(s string) bool { return s == "" }), ", or "),
		})
		return
	}
	c.addEnforced(policy.AxisNet, "TLS terminated by a separate process, with an authority for this session and these names", "%s", what)
	if o.HostNS {
		bundle := path.Join(o.TempDir, hostNSBundle)
		c.plan.TLS = tlsPlan{Program: c.f.TLSProgram.Detail, CABundles: []string{bundle}}
		o.Files = append(o.Files, spec.MadeFile{Path: bundle})
		setAuthorities(o, bundle, bundle)
		c.plan.Notes = append(c.plan.Notes, "hosts whose requests are inspected can be reached only by programs that read their certificate authorities from a variable (SSL_CERT_FILE, NODE_EXTRA_CA_CERTS and the like), and not from the system's file")
		return
	}
	t := tlsPlan{Program: c.f.TLSProgram.Detail, CAFile: ownAuthority}
	for _, name := range c.f.Bundles {
		if e, decided := c.p.Find(name); decided && e.Path == name {
			continue // a rule of the user names this bundle
		}
		t.CABundles = append(t.CABundles, name)
	}
	if t.CABundles == nil {
		t.CABundles = []string{ownBundle}
	}
	if within(c.p, ownAuthority) {
		t.CAFile = t.CABundles[0] // the jail can make no name in a granted directory
	}
	for _, name := range append(slices.Clone(t.CABundles), t.CAFile) {
		if !slices.ContainsFunc(o.Files, func(f spec.MadeFile) bool { return f.Path == name }) {
			o.Files = append(o.Files, spec.MadeFile{Path: name, Over: within(c.p, name)})
		}
	}
	setAuthorities(o, t.CAFile, t.CABundles[0])
	c.plan.TLS = t
}

// setAuthorities names file to node, and bundle to all other programs. A variable of the user names
// no other file: the programs would not find the jail's own authority.
func setAuthorities(o *spec.Spec, file, bundle string) {
	ensureEnv(o, NodeAuthorities, file)
	for _, name := range AuthorityVariables {
		ensureEnv(o, name, bundle)
	}
	for _, name := range policy.AuthorityVariables {
		if name != NodeAuthorities && hasEnv(o, name) {
			setEnv(o, name, bundle)
		}
	}
}
