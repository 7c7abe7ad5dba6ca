package plan

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/net/bpf"
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

// grantedHosts returns the hosts of the rules that allow one. nil means no network.
func grantedHosts(rules []policy.NetRule) (hosts []string) {
	for _, r := range rules {
		if r.Allow && !slices.Contains(hosts, r.Host) {
			hosts = append(hosts, r.Host)
		}
	}
	return hosts
}

func (c *compiler) compileNetwork(o *spec.Spec, granted []string) {
	o.Network.Open, o.Network.Ports = true, egress.Ports(c.p.Net)
	filter, err := compileRefused()
	if err != nil {
		c.addGap(Gap{Axis: policy.AxisNet, What: "what the jail's network refuses", Fatal: true, Why: err.Error(), Fix: "report this"})
		return
	}
	o.Network.Refused = seccomp.Records(filter)
	files := gatewayFiles()
	o.Files = slices.DeleteFunc(o.Files, func(f spec.MadeFile) bool { return f.Path == files[0].Path })
	o.Files = append(o.Files, files...)
	for i := range o.Files {
		o.Files[i].Over = within(c.p, o.Files[i].Path)
	}
	onlyHosts(c, "listeners handed out of an empty network namespace", granted)
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
