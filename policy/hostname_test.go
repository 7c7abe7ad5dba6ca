package policy

import (
	"strings"
	"testing"
)

func TestNormalizeHost(t *testing.T) {
	for host, want := range map[string]string{
		"api.github.com": "api.github.com", "API.GitHub.com.": "api.github.com", "localhost": "localhost", "LOCALHOST.": "localhost",
		"*": "*", "*.Example.COM": "*.example.com", "bücher.example": "xn--bcher-kva.example", "*.bücher.example": "*.xn--bcher-kva.example", "XN--BCHER-KVA.example": "xn--bcher-kva.example",
		"10.0.0.1": "10.0.0.1", "::1": "::1", "[::1]": "::1", "2001:DB8:0::1": "2001:db8::1", "::ffff:10.0.0.1": "10.0.0.1",
		"my_service": "my_service", "a-b.c": "a-b.c", "１２７.0.0.1x": "127.0.0.1x",
	} {
		got, err := NormalizeHost(host)
		if err != nil || got != want {
			t.Errorf("NormalizeHost(%q) = %q, %v; want %q", host, got, err, want)
		}
	}
	for _, host := range []string{
		"", ".", "..", "a..b", ".a", "user@host", "user:pw@host", "https://host", "host/path", "host:443", "host\x00", "a\r\nb", "a b", "a\tb",
		"fe80::1%eth0", "fe80::1%25eth0", "[fe80::1%1]", "a%2eb", "a?b", "a#b", "a\\b",
		"0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "2130706433", "127.1", "127.0.0.01", "1.2.3.4.5", "10.0.0.256", "１２７.１", "127。0。1", "0x",
		"a*b", "*a", "**", "*.*", "a.*", "*.10.0.0.1", "[10.0.0.1]", "[a]", "*.", "-a.b", "a-.b", "xn--", "xn--a", "\xff", "a\u200bb:1",
		strings.Repeat("a", 64), strings.Repeat("a.", 127) + "a", strings.Repeat("a", 5000),
	} {
		if got, err := NormalizeHost(host); err == nil {
			t.Errorf("NormalizeHost(%q) = %q, want an error", host, got)
		}
	}
}

// TestNoRanges: a range of ports or addresses is told as one, and a value after a variable's name is not
// repeated, since it may be a secret.
func TestNoRanges(t *testing.T) {
	of := func(_ string, _ int, err error) error { return err }
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"ports", of(ParseHostPort("localhost:3000-3010")), `each port is written by itself, without a range or "*"`},
		{"every port", of(ParseHostPort("localhost:*")), `each port is written by itself, without a range or "*"`},
		{"addresses", of(ParseHostPort("10.0.0.0/8")), `"10.0.0.0/8" is not a host alone; a path is written as path_prefix, and each address of a range by itself`},
		{"a path", of(ParseHostPort("host/path")), `"host/path" is not a host alone; a path is written as path_prefix`},
		{"a value", CheckEnvName("KEY=hunter2"), `a value is given after the name "KEY": write the name alone`},
		{"no name", CheckEnvName("=x"), `"=x" is not the name of a variable`},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) || strings.Contains(tt.err.Error(), "hunter2") {
			t.Errorf("%s: %v", tt.name, tt.err)
		}
	}
}
