package policy

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// CheckAddress decides whether a connection to an address may be dialled. The address
// belongs to a granted name, or the program chose it. CheckAddress comes on top of
// [MatchNet]: a granted name, and "*", do not grant addresses of the host itself or of its
// private networks, because the owner of a name can let it point there. Only a rule that
// names the address, or localhost, with this port grants those. A rule that refuses an
// address refuses it under every name.
//
// addr is the address to dial. An IPv4 address must be in its own form: an IPv4 address
// embedded in an IPv6 address is refused. own says that this host itself answers the address.
// If ok is false, reason says what the address is, such as "is a private address".
func CheckAddress(rules []NetRule, addr netip.Addr, port int, own bool) (reason string, ok bool) {
	if !addr.IsValid() {
		return "is no address", false
	}
	switch decided, allow := addressRule(rules, addr, port); {
	case decided && allow:
		return "", true
	case decided:
		return "is refused by a rule", false
	}
	if reason = specialAddress(addr); reason != "" {
		return reason, false
	}
	if own {
		return "is one of this machine's own", false
	}
	return "", true
}

// addressRule evaluates the rules that name an address, or localhost for its two addresses.
// It leaves out rules that refuse some paths or methods only: those are decided for each
// request, by the name in the request.
func addressRule(rules []NetRule, addr netip.Addr, port int) (decided, allow bool) {
	name := addr.String() // no rule's host, if the address has a zone or is IPv4-mapped
	local := addr == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || addr == netip.IPv6Loopback()
	for _, r := range rules {
		if r.Host != name && !(local && r.Host == "localhost") || !r.coversPort(port) {
			continue
		}
		switch {
		case r.Allow:
			decided, allow = true, true
		case !r.conditional():
			return true, false
		}
	}
	return decided, allow
}

// specials returns the address blocks that no public host has. The first block that
// contains an address says what the address is.
var specials = sync.OnceValue(func() (all []specialBlock) {
	ProgramRows("block", func(blocks, reason []string) {
		for _, block := range blocks {
			all = append(all, specialBlock{netip.MustParsePrefix(block), strings.Join(reason, " ")})
		}
	})
	return all
})

type specialBlock struct {
	netip.Prefix
	reason string
}

const (
	ReasonMetadata = "is where a cloud serves credentials to its machines"
	private        = "is a private address"
	linkLocal      = "is a link-local address"
	carrier        = "is an address of a carrier's own network"
	embedded       = "is an IPv4 address in the form of an IPv6 one"
)

// IsGroup reports whether an address is one of several machines at once.
func IsGroup(addr netip.Addr) bool {
	return addr.IsMulticast() || addr == netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

// specialAddress returns what a special address is, or "" for a public one. Blocks for
// documentation are not special: they lead nowhere. Nor is 198.18.0.0/15, which the
// resolvers of some tunnels return for every name.
func specialAddress(addr netip.Addr) string {
	if addr.Zone() != "" {
		return linkLocal
	}
	for _, s := range specials() {
		if s.Contains(addr) { // does not mix families: an IPv4-mapped address is an IPv6 address
			return s.reason
		}
	}
	if b := addr.As16(); addr.Is6() && (b[8] == 0 || b[8] == 2) && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		return embedded // ISATAP
	}
	return ""
}

// SpecialTarget returns why the host of a rule deserves a warning, in the words of
// specialAddress: it serves a cloud's credentials, or is private, link-local or a carrier's.
// For every other host it returns "", also for the loopback: it can only be named on purpose.
func (r NetRule) SpecialTarget() string {
	if addr, err := netip.ParseAddr(r.Host); err == nil {
		if what := specialAddress(addr); what == ReasonMetadata || what == private || what == linkLocal || what == carrier {
			return what
		}
		return ""
	}
	metadata, _ := ProgramWords("host", "metadata")
	for _, name := range metadata {
		if suffix, wild := strings.CutPrefix(r.Host, "*"); r.Host == name || wild && suffix != "" && strings.HasSuffix(name, suffix) {
			return ReasonMetadata
		}
	}
	return ""
}

// NormalizeHost brings the host of a rule into the one form that is compared
// (docs/policy.md "Network rules"): IDNA in ASCII, small letters, no final dot.
// "*", "*.name", a DNS name and an IP address are accepted; user info, control
// characters, zone ids and the octal, hexadecimal or short forms of an IPv4
// address are errors, because two programs read them as two different hosts.
// It is idempotent.
func NormalizeHost(host string) (string, error) {
	if host == "*" {
		return host, nil
	}
	if name, ok := strings.CutPrefix(host, "*."); ok {
		normal, err := NormalizeTarget(name)
		if err != nil {
			return "", err
		}
		if _, err := netip.ParseAddr(normal); err == nil {
			return "", fmt.Errorf("%q: an address has no names below it", Abbreviate(host))
		}
		return "*." + normal, nil
	}
	return NormalizeTarget(host)
}

// NormalizeTarget does the same for the host of a request, which is never a
// wildcard.
func NormalizeTarget(host string) (string, error) {
	if err := checkHostText(host); err != nil {
		return "", err
	}
	bare := host
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		bare = host[1 : len(host)-1]
		if !strings.Contains(bare, ":") {
			return "", fmt.Errorf("%q: brackets are for IPv6 addresses", Abbreviate(host))
		}
	}
	if strings.Contains(bare, ":") {
		a, err := netip.ParseAddr(bare)
		if err != nil {
			return "", fmt.Errorf("%q is not a host: a port is written as port = N", Abbreviate(host))
		}
		return a.Unmap().String(), nil
	}
	if a, err := netip.ParseAddr(bare); err == nil {
		return a.String(), nil
	}
	name := strings.TrimSuffix(bare, ".")
	if !isASCII(name) || strings.Contains(strings.ToLower(name), "xn--") {
		ascii, err := idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false), idna.StrictDomainName(false)).ToASCII(name)
		if err != nil {
			return "", fmt.Errorf("%q is not a valid international name: %s", Abbreviate(host), err)
		}
		name = strings.TrimSuffix(ascii, ".")
	}
	name = strings.ToLower(name)
	if err := checkName(host, name); err != nil {
		return "", err
	}
	return name, nil
}

func isASCII(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return r > 126 }) < 0 }

func checkHostText(host string) error {
	switch {
	case host == "":
		return fmt.Errorf("the host is empty")
	case !utf8.ValidString(host):
		return fmt.Errorf("%q is not valid UTF-8", Abbreviate(host))
	case len(host) > 1024:
		return fmt.Errorf("the host is longer than any name can be")
	case strings.ContainsRune(host, 0):
		return fmt.Errorf("the host contains a NUL")
	case strings.ContainsAny(host, "\r\n"):
		return fmt.Errorf("the host contains a line break")
	case strings.Contains(host, "://"):
		return fmt.Errorf("%q is a URL: write the host alone, and scheme = \"https\" beside it", Abbreviate(host))
	case strings.Contains(host, "@"):
		return fmt.Errorf("%q contains user info (\"@\"), which is refused", Abbreviate(host))
	case strings.Contains(host, "%"):
		return fmt.Errorf("%q contains a zone id or an escape (\"%%\"), which is refused", Abbreviate(host))
	case strings.ContainsAny(host, "/\\?#"):
		return fmt.Errorf("%q is not a host alone; a path is written as path_prefix, and each address of a range by itself", Abbreviate(host))
	case strings.Contains(host, "*"):
		return fmt.Errorf("%q: the only wildcards are \"*\" and one leading \"*.\"", Abbreviate(host))
	}
	for _, r := range host {
		if r <= ' ' || r == 0x7f {
			return fmt.Errorf("%q contains a space or control character", Abbreviate(host))
		}
	}
	return nil
}

// checkName validates a lower case ASCII name. A name whose last label is a
// number would be read as an IPv4 address by some resolvers (0177.1, 0x7f.1,
// 2130706433), also when the digits were written in another script.
func checkName(written, name string) error {
	if name == "" || len(name) > 253 {
		return fmt.Errorf("%q is not a host name: it has %d characters", Abbreviate(written), len(name))
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 {
			return fmt.Errorf("%q is not a host name: one of its parts is empty or longer than 63 characters", Abbreviate(written))
		}
		for _, r := range l {
			if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' {
				return fmt.Errorf("%q is not a host name: it contains %q", Abbreviate(written), r)
			}
		}
		if l[0] == '-' || l[len(l)-1] == '-' {
			return fmt.Errorf("%q is not a host name: a part begins or ends with \"-\"", Abbreviate(written))
		}
	}
	end := labels[len(labels)-1]
	digits := strings.Trim(end, "0123456789") == ""
	hex := strings.HasPrefix(end, "0x") && strings.Trim(end[2:], "0123456789abcdef") == ""
	if digits || hex {
		return fmt.Errorf("%q is an IPv4 address in an octal, hexadecimal or short form, which is refused: write four decimal numbers", Abbreviate(written))
	}
	return nil
}
