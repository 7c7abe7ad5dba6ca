package policy

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

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
