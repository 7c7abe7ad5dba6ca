package confine

import (
	"slices"

	"golang.org/x/net/bpf"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A jail with granted hosts has an empty network namespace like every other. In it
// every address is local: what would lead out arrives at sockets that the shim opened
// there and handed to the launcher. On the launcher's side of them a Gate decides
// (package egress); on the jail's side there is nothing left to reach.

// gateOrder is what the shim has to open.
type gateOrder struct {
	Open    bool     // there is a gate at all
	Asked   bool     // instead, without namespaces: the init makes the server's sockets, and asks what they may reach
	Inbound bool     // ports of the host lead into the jail
	Ports   []uint16 // TCP, besides those of DNS
	Refused []byte   // the filter of the packet socket, struct sock_filter records
}

// any tells whether there is something to hand over.
func (g *gateOrder) any() bool { return g.Open || g.Asked || g.Inbound }

// What the sockets are that the shim hands over: a byte each, in the data of the
// message that carries them.
const (
	handedDNS     = 'd' // UDP, [::]:53
	handedDNSTCP  = 'D'
	handedTCP     = 't' // a listener
	handedRefused = 'r' // the packet socket
	handedSpare   = 's' // TCP, for a connection into the jail
	handedAsks    = 'a' // no socket of the network: see asks.go
	handedAll     = '.' // no descriptor: that was the last
)

// maxHanded is how many descriptors one message carries (SCM_MAX_FD).
const maxHanded = 253

// gatePort is DNS's.
const gatePort = 53

// Lookups go to an address of lo, so that a program that refuses loopback addresses
// for a resolver is content as well.
const gateResolver = "192.0.0.2"

// gateFiles are what a program in a gated jail looks names up by. One resolver, and
// no way around it: nss-resolve and nscd would be sockets of the host.
func gateFiles() []madeFile {
	return []madeFile{
		{Path: "/etc/resolv.conf", Content: "nameserver " + gateResolver + "\n"},
		{Path: "/etc/nsswitch.conf", Content: "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n"},
	}
}

// grantedHosts are the hosts of the rules that allow one; nil: there is no network.
func grantedHosts(rules []policy.NetRule) (hosts []string) {
	for _, r := range rules {
		if r.Allow && !slices.Contains(hosts, r.Host) {
			hosts = append(hosts, r.Host)
		}
	}
	return hosts
}

// gate compiles for a jail with granted hosts.
func (c *compiler) gate(o *order, granted []string) {
	o.Gate.Open, o.Gate.Ports = true, egress.Ports(c.p.Net)
	filter, err := compileRefused()
	if err != nil {
		c.gap(Gap{Axis: policy.AxisNet, What: "what the jail's network refuses", Fatal: true, Why: err.Error(), Fix: "report this"})
		return
	}
	o.Gate.Refused = filterRecords(filter)
	files := gateFiles()
	o.Files = slices.DeleteFunc(o.Files, func(f madeFile) bool { return f.Path == files[0].Path })
	o.Files = append(o.Files, files...)
	replaced := func(name string) bool {
		return slices.ContainsFunc(files, func(f madeFile) bool { return f.Path == name })
	}
	// The host's own nsswitch.conf names services that do not exist in here.
	p := *c.p
	p.Entries = slices.DeleteFunc(slices.Clone(p.Entries), func(e policy.Entry) bool {
		return e.Origin == policy.OriginBaseline && replaced(e.Path)
	})
	for i := range o.Files {
		o.Files[i].Over = c.within(o.Files[i].Path)
	}
	o.Links = slices.DeleteFunc(slices.Clone(o.Links), func(l policy.Link) bool { return replaced(l.Path) })
	c.p = &p
	c.onlyHosts("listeners handed out of an empty network namespace", granted)
}

// within tells whether a path lies in a directory that is granted. What a rule names
// itself is what the user wants to be there.
func (c *compiler) within(path string) bool {
	e, ok := c.p.Find(path)
	return ok && e.Path != path && e.Rights.Has(policy.Read)
}

// gateRules are the rules for a gate that cannot look into connections, when that gap
// was waived: what would allow a part of a host allows all of it, and what would
// refuse a part refuses nothing.
func gateRules(rules []policy.NetRule) []policy.NetRule {
	var out []policy.NetRule
	for _, r := range rules {
		if r.NeedsInterception() {
			if !r.Allow {
				continue
			}
			r.PathPrefix, r.Methods, r.Secrets = "", nil, nil
		}
		out = append(out, r)
	}
	return out
}

// refusedBytes is how much the packet socket shows of each packet: two IP headers and
// what follows them.
const refusedBytes = 128

// compileRefused is the filter of a packet socket of type SOCK_DGRAM, which sees
// packets from their IP header on. It lets those pass by which the kernel itself
// refuses: the reset that answers a SYN where nobody listens, and ICMP's "destination
// unreachable". Among resets it is the one with sequence number 0 and an
// acknowledgement (RFC 9293, 3.10.7.1). None of these has IP options or extension
// headers, unless the server put some in the packet that was refused, which then is
// not recorded.
func compileRefused() ([]bpf.RawInstruction, error) {
	yes, no := &filterNode{verdict: refusedBytes}, &filterNode{}
	is := func(off, mask, value uint32, yes, no *filterNode) *filterNode {
		return whenEqual(filterWord{off, mask}, value, yes, no)
	}
	const resetAndAck = 0x14 << 16
	reset := func(tcp uint32) *filterNode {
		return is(tcp+12, resetAndAck, resetAndAck, is(tcp+4, allBits, 0, yes, no), no)
	}
	v4 := is(8, 0xff<<16, 6<<16, reset(20),
		is(8, 0xff<<16, 1<<16, is(20, 0xff<<24, 3<<24, yes, no), no))
	v6 := is(4, 0xff<<8, 6<<8, reset(40),
		is(4, 0xff<<8, 58<<8, is(40, 0xff<<24, 1<<24, yes, no), no))
	root := is(0, 0xff<<24, 0x45<<24, v4, is(0, 0xf0<<24, 0x60<<24, v6, no))
	return assembleFilter(root)
}
