package policy

import (
	"net/netip"
	"strings"
	"testing"
)

func TestSpecialAddresses(t *testing.T) {
	own := map[string]bool{"203.0.113.7": true, "2001:db8::7": true}
	star := []NetRule{{Host: "*", Allow: true}, {Host: "evil.example", Allow: true}}
	for addr, want := range map[string]string{
		"93.184.215.14": "", "2606:4700::1111": "", "198.51.100.1": "", "2001:db8::1": "", "198.18.0.5": "", "100.63.255.255": "", "100.128.0.0": "",
		"172.15.255.255": "", "172.32.0.0": "", "192.167.255.255": "", "169.253.255.255": "", "223.255.255.255": "", "11.0.0.0": "", "128.0.0.0": "", "1.0.0.0": "",
		"2001:1::1": "", "2003::1": "", "64:ff9a::1": "", "fbff::1": "", "192.0.1.0": "",
		"127.0.0.1": loopback, "127.255.255.254": loopback, "::1": loopback,
		"0.0.0.0": unspecified, "0.1.2.3": unspecified, "::": unspecified,
		"10.0.0.1": private, "172.16.0.0": private, "172.31.255.255": private, "192.168.1.1": private, "fc00::1": private, "fdff::1": private, "fec0::1": private,
		"169.254.1.1": linkLocal, "fe80::1": linkLocal, "febf::1": linkLocal, "fe80::2%eth0": linkLocal, "2606:4700::1111%eth0": linkLocal,
		"169.254.169.254": ReasonMetadata, "169.254.170.2": ReasonMetadata, "100.100.100.200": ReasonMetadata, "168.63.129.16": ReasonMetadata, "192.0.0.192": ReasonMetadata, "fd00:ec2::254": ReasonMetadata, "fd20:ce::254": ReasonMetadata,
		"100.64.0.0": "carrier", "100.127.255.255": "carrier", "192.0.0.2": "protocol", "192.88.99.1": "6to4 relay",
		"224.0.0.251": multicast, "239.255.255.250": multicast, "ff02::1": multicast, "255.255.255.255": "broadcast", "240.0.0.1": "reserved",
		"::ffff:10.0.0.1": embedded, "::ffff:93.184.215.14": embedded, "::ffff:0:10.0.0.1": embedded, "::10.0.0.1": embedded, "::2": embedded,
		"64:ff9b::a00:1": embedded, "64:ff9b::5db8:d70e": embedded, "64:ff9b:1::a00:1": embedded,
		"2002:a00:1::1": embedded, "2002:7f00:1::": embedded, "2001:0:4136:e378:8000:63bf:3fff:fdd2": embedded, "2606:4700::5efe:10.0.0.1": embedded, "2606:4700::200:5efe:10.0.0.1": embedded,
		"203.0.113.7": "this host's own", "2001:db8::7": "this host's own", "203.0.113.9": "",
	} {
		reason, ok := CheckAddress(star, netip.MustParseAddr(addr), 443, own[addr])
		if ok != (want == "") || !strings.Contains(reason, want) || !ok && reason == "" {
			t.Errorf("%s: %v, %q; want %q", addr, ok, reason, want)
		}
		// The control: a rule that names the address, if a rule can.
		a := netip.MustParseAddr(addr)
		if a.Zone() != "" || a.Is4In6() {
			continue
		}
		named := NetRule{Host: a.String(), Port: 443, Allow: true}
		if normal, err := NormalizeHost(named.Host); err != nil || normal != named.Host {
			t.Errorf("no rule can name %s: %q, %v", addr, normal, err)
		}
		if reason, ok := CheckAddress([]NetRule{named}, a, 443, own[addr]); !ok {
			t.Errorf("%s is named and refused: %s", addr, reason)
		}
		named.Allow = false
		if reason, ok := CheckAddress([]NetRule{star[0], named}, a, 443, own[addr]); ok || reason != "is refused by a rule" {
			t.Errorf("%s is refused by name: %v, %q", addr, ok, reason)
		}
	}
	if reason, ok := CheckAddress(star, netip.Addr{}, 443, false); ok || reason == "" {
		t.Error("the zero address is accepted")
	}
}

// TestAddressRules checks that a rule for an address grants nothing besides that address.
func TestAddressRules(t *testing.T) {
	rule := func(host string, port int, edit ...func(*NetRule)) NetRule {
		r := NetRule{Host: host, Port: port, Allow: true}
		for _, e := range edit {
			e(&r)
		}
		return r
	}
	deny := func(r *NetRule) { r.Allow = false }
	under := func(r *NetRule) { r.PathPrefix = "/x" }
	for _, tt := range []struct {
		name  string
		rules []NetRule
		addr  string
		port  int
		want  bool
	}{
		{"another port", []NetRule{rule("10.0.0.1", 5432)}, "10.0.0.1", 80, false},
		{"the port", []NetRule{rule("10.0.0.1", 5432)}, "10.0.0.1", 5432, true},
		{"the ports of the web", []NetRule{rule("10.0.0.1", 0)}, "10.0.0.1", 443, true},
		{"another address", []NetRule{rule("10.0.0.1", 80)}, "10.0.0.2", 80, false},
		{"localhost", []NetRule{rule("localhost", 5432)}, "127.0.0.1", 5432, true},
		{"localhost of IPv6", []NetRule{rule("localhost", 5432)}, "::1", 5432, true},
		{"localhost, another port", []NetRule{rule("localhost", 5432)}, "127.0.0.1", 6379, false},
		{"localhost is not all of the loopback", []NetRule{rule("localhost", 5432)}, "127.0.0.2", 5432, false},
		{"localhost is not unspecified", []NetRule{rule("localhost", 5432)}, "0.0.0.0", 5432, false},
		{"localhost is not mapped", []NetRule{rule("localhost", 5432)}, "::ffff:127.0.0.1", 5432, false},
		{"a name below localhost is not localhost", []NetRule{rule("app.localhost", 80), rule("*.localhost", 80)}, "127.0.0.1", 80, false},
		{"127.0.0.1 is not ::1", []NetRule{rule("127.0.0.1", 80)}, "::1", 80, false},
		{"a rule that refuses", []NetRule{rule("10.0.0.1", 80), rule("10.0.0.1", 80, deny)}, "10.0.0.1", 80, false},
		{"refused as localhost", []NetRule{rule("127.0.0.1", 80), rule("localhost", 80, deny)}, "127.0.0.1", 80, false},
		{"granted for a path", []NetRule{rule("10.0.0.1", 80, under)}, "10.0.0.1", 80, true},
		{"refused for a path", []NetRule{rule("10.0.0.1", 80), rule("10.0.0.1", 80, under, deny)}, "10.0.0.1", 80, true},
		{"a public address that is refused", []NetRule{rule("*", 0), rule("93.184.215.14", 443, deny)}, "93.184.215.14", 443, false},
		{"refused on every port", []NetRule{rule("93.184.216.34", 0, deny), rule("*", 8080)}, "93.184.216.34", 8080, false},
		{"refused for a path, public", []NetRule{rule("93.184.215.14", 443, under, deny)}, "93.184.215.14", 443, true},
	} {
		if reason, ok := CheckAddress(tt.rules, netip.MustParseAddr(tt.addr), tt.port, false); ok != tt.want || ok != (reason == "") {
			t.Errorf("%s: %v (%s)", tt.name, ok, reason)
		}
	}
}
