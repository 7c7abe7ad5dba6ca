package plan

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/bpf"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// gatewayResolver is the resolver's address. It is assigned to lo but is no loopback address,
// because some programs refuse a loopback address as a resolver.
const gatewayResolver = "192.0.0.2"

// gatewayFiles returns the files by which a program behind a gateway looks names up. There
// is one resolver. The host's nsswitch.conf may name services that are sockets of the host
// (nss-resolve, nscd), which do not exist in the jail.
func gatewayFiles() []spec.MadeFile {
	return []spec.MadeFile{
		{Path: "/etc/resolv.conf", Content: "nameserver " + gatewayResolver + "\n"},
		{Path: "/etc/nsswitch.conf", Content: "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n"},
	}
}

// grantedHosts returns the hosts of the rules that allow one.
func grantedHosts(rules []policy.NetRule) (hosts []string) {
	for _, r := range rules {
		if r.Allow && !slices.Contains(hosts, r.Host) {
			hosts = append(hosts, r.Host)
		}
	}
	return hosts
}

// compileNetwork compiles the network of the gateway, which has every lookup and connection of a jail
// with namespaces.
func (c *compiler) compileNetwork(o *spec.Spec) {
	o.Network.Ports = egress.Ports(c.p.Net)
	filter, err := compileRefused()
	if err != nil {
		c.addGap(Gap{Axis: policy.AxisNet, What: "what the jail's network blocks", Fatal: true, Why: err.Error(), Fix: "report this"})
		return
	}
	o.Network.Refused = seccomp.Records(filter)
	o.Files = append(o.Files, gatewayFiles()...)
	for i := range o.Files {
		o.Files[i].Over = within(c.p, o.Files[i].Path)
	}
	if granted := grantedHosts(c.p.Net); granted != nil {
		onlyHosts(c, "listeners handed out of an empty network namespace", granted)
	} else {
		c.addEnforced(policy.AxisNet, "an empty network namespace", "no network but the jail's own loopback")
	}
}

// within reports whether a path lies in a directory that is granted and readable. It is false
// for a path that has an entry itself: the user wants that file.
func within(p *policy.Profile, path string) bool {
	e, ok := p.Find(path)
	return ok && e.Path != path && e.Rights.Has(policy.Read)
}

// refusedBytes is how many bytes of each packet the packet socket shows: enough for two IP headers
// and the ports.
const refusedBytes = 128

// compileRefused returns the filter of a packet socket of type SOCK_DGRAM, which sees packets from
// their IP header on. The filter passes the packets by which the kernel itself refuses another
// packet: the reset that answers a SYN to a port without a listener, and ICMP's "destination
// unreachable". That reset has sequence number 0 and an acknowledgement (RFC 9293, 3.10.7.1). It
// also passes UDP to several machines, which the kernel drops without a word. It passes no packet
// with IP options or extension headers. The kernel adds these only if the refused packet of the
// server had some. Such a refusal is not recorded.
func compileRefused() ([]bpf.RawInstruction, error) {
	yes, no := &seccomp.Node{Verdict: refusedBytes}, &seccomp.Node{}
	is := func(off, mask, value uint32, yes, no *seccomp.Node) *seccomp.Node {
		return seccomp.WhenEqual(seccomp.Word{Off: off, Mask: mask}, value, yes, no)
	}
	const resetAndAck = 0x14 << 16
	reset := func(tcp uint32) *seccomp.Node {
		return is(tcp+12, resetAndAck, resetAndAck, is(tcp+4, seccomp.AllBits, 0, yes, no), no)
	}
	v4 := is(8, 0xff<<16, 6<<16, reset(20),
		is(8, 0xff<<16, 1<<16, is(20, 0xff<<24, 3<<24, yes, no),
			is(8, 0xff<<16, 17<<16, is(16, 0xe0<<24, 0xe0<<24, yes, no), no)))
	v6 := is(4, 0xff<<8, 6<<8, reset(40),
		is(4, 0xff<<8, 58<<8, is(40, 0xff<<24, 1<<24, yes, no),
			is(4, 0xff<<8, 17<<8, is(24, 0xff<<24, 0xff<<24, yes, no), no)))
	root := is(0, 0xff<<24, 0x45<<24, v4, is(0, 0xf0<<24, 0x60<<24, v6, no))
	return seccomp.Assemble(root)
}

func brokeredNetwork(c *compiler, o *spec.Spec, granted []string) {
	if missing := canBroker(c.f); missing.Answer != kernel.Yes {
		hostNetwork(c, o, missing)
		return
	}
	o.Network.Brokered = true
	by := "sockets that mcp-jail makes and connects, asked by seccomp"
	if c.f.LandlockABI >= 4 {
		by += "; Landlock"
	}
	onlyHosts(c, by, granted)
	c.interceptTLS(o)
	c.plan.Notes = append(c.plan.Notes, "the server cannot listen on a port, and connections of its processes to each other cannot be made but by pairs of sockets")
}

func canBroker(f kernel.Facts) kernel.Feature {
	if mediates := canMediateHostNS(f); mediates.Answer != kernel.Yes {
		return mediates
	}
	return f.Sockets
}

func onlyHosts(c *compiler, by string, granted []string) {
	c.addEnforced(policy.AxisNet, by, "only the hosts %s; every other is blocked at once and recorded", strings.Join(shorten(granted, 6), ", "))
}

// hostNetwork adds the gaps of a server whose granted hosts cannot be enforced. It gets the
// host's whole network, and its other rules about the network have no effect.
func hostNetwork(c *compiler, o *spec.Spec, missing kernel.Feature) {
	o.HostNames = true
	const fix = `, or accept the whole network for this server with waive = ["net"] (--waive net)`
	c.addGap(Gap{
		Axis: policy.AxisNet, What: "only the hosts " + strings.Join(shorten(grantedHosts(c.p.Net), 6), ", "),
		Why: "there is no network namespace, and mcp-jail cannot decide what a socket may reach: " + missing.Detail + "; so the server gets all of the network or none",
		Fix: strings.TrimPrefix(missing.Fix+", or remove the net rules", ", or ") + fix,
	})
	if NeedsInterception(c.p.Net) {
		unseenRequests(c, "requests are not inspected then: every request passes, with the placeholder of a secret instead of its value", "remove these keys"+fix)
	}
}

func unseenRequests(c *compiler, why, fix string) {
	c.addGap(Gap{Axis: policy.AxisNet, What: requestsOf(c.p.Net), Why: why, Fix: fix})
}

func requestsOf(rules []policy.NetRule) string {
	var hosts []string
	for _, r := range rules {
		if r.NeedsInterception() && !slices.Contains(hosts, r.Host) {
			hosts = append(hosts, r.Host)
		}
	}
	return "path_prefix, methods and secret of " + strings.Join(shorten(hosts, 6), ", ")
}

func noInbound(c *compiler) {
	const why = "a port of this machine can lead only into a jail with a network namespace"
	required := requiredInbound(c.p)
	if len(c.p.OptionalInbound) > 0 {
		c.plan.Notes = append(c.plan.Notes, "the inbound ports "+ports(c.p.OptionalInbound)+" of the preset do not lead in, so no browser can finish a login: "+why)
	}
	if len(required) == 0 {
		return
	}
	c.addGap(Gap{
		Axis: policy.AxisNet, What: "inbound ports " + ports(required),
		Why: why,
		Fix: `remove the inbound rules, or accept that nothing reaches the server with waive = ["net"] (--waive net)`,
	})
}

// requiredInbound returns the ports that rules of the user name. Those of presets alone are optional.
func requiredInbound(p *policy.Profile) []int {
	return slices.DeleteFunc(slices.Clone(p.Inbound), func(port int) bool { return slices.Contains(p.OptionalInbound, port) })
}

func ports(list []int) string {
	var words []string
	for _, p := range list {
		words = append(words, strconv.Itoa(p))
	}
	return strings.Join(words, ", ")
}

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
	if c.f.TLSProgram.Answer != kernel.Yes {
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
