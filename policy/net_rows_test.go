package policy_test

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/policytest"
)

func TestMatchNet(t *testing.T) {
	for _, row := range testkit.Rows(t, "requests.txt", 8) {
		port, _ := strconv.Atoi(row[4])
		if _, got := policy.MatchNet(policytest.Rules(t, row[1]), row[2], row[3], port, row[6], row[5]); fmt.Sprint(got) != row[7] {
			t.Errorf("%s: %v", row, got)
		}
	}
}

func TestAnyNeedsInterception(t *testing.T) {
	for _, row := range testkit.Rows(t, "interception.txt", 5) {
		port, _ := strconv.Atoi(row[3])
		if got := policy.AnyNeedsInterception(policytest.Rules(t, row[1]), "A.b.", row[2], port); fmt.Sprint(got) != row[4] {
			t.Errorf("%s: %v", row, got)
		}
	}
	if policy.AnyNeedsInterception(policytest.Rules(t, "a.b/x"), "a@b", "https", 443) {
		t.Error("a text that is not a host needs interception")
	}
}

// TestAddressRules checks that a rule for an address grants nothing besides that address.
func TestAddressRules(t *testing.T) {
	for _, row := range testkit.Rows(t, "address_rules.txt", 5) {
		port, _ := strconv.Atoi(row[3])
		if reason, ok := policy.CheckAddress(policytest.Rules(t, row[1]), netip.MustParseAddr(row[2]), port, false); fmt.Sprint(ok) != row[4] || ok != (reason == "") {
			t.Errorf("%s: %v (%s)", row, ok, reason)
		}
	}
}

// TestSpecialAddresses: no name leads to an address that is not one of the internet. The control: a rule that names
// the address, if a rule can.
func TestSpecialAddresses(t *testing.T) {
	own := map[string]bool{"203.0.113.7": true, "2001:db8::7": true}
	star := policytest.Rules(t, "* evil.example")
	for _, row := range testkit.Rows(t, "addresses.txt", 2) {
		addr, want := row[0], row[1]
		a := netip.MustParseAddr(addr)
		reason, ok := policy.CheckAddress(star, a, 443, own[addr])
		if ok != (want == "") || !strings.Contains(reason, want) || !ok && reason == "" {
			t.Errorf("%s: %v, %q; want %q", addr, ok, reason, want)
		}
		if a.Zone() != "" || a.Is4In6() {
			continue
		}
		named := policy.NetRule{Host: a.String(), Port: 443, Allow: true}
		if normal, err := policy.NormalizeHost(named.Host); err != nil || normal != named.Host {
			t.Errorf("no rule can name %s: %q, %v", addr, normal, err)
		}
		if reason, ok := policy.CheckAddress([]policy.NetRule{named}, a, 443, own[addr]); !ok {
			t.Errorf("%s is named and refused: %s", addr, reason)
		}
		named.Allow = false
		if reason, ok := policy.CheckAddress([]policy.NetRule{star[0], named}, a, 443, own[addr]); ok || reason != "is refused by a rule" {
			t.Errorf("%s is refused by name: %v, %q", addr, ok, reason)
		}
	}
	if reason, ok := policy.CheckAddress(star, netip.Addr{}, 443, false); ok || reason == "" {
		t.Error("the zero address is accepted")
	}
}
