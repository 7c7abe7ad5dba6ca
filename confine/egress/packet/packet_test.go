package packet

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestParseRefusal(t *testing.T) {
	v4 := "45000028000040004006 0000 c6336407 7f000001" // 198.51.100.7 to 127.0.0.1, TCP
	v6 := "600000000014 06 40 20010db8000000000000000000000007 00000000000000000000000000000001"
	rst := "01bb 8000 00000000 00000001 5014 0000 0000 0000"
	for _, c := range []struct{ what, packet, want string }{
		{"a reset", v4 + rst, "tcp 198.51.100.7:443"},
		{"a reset by IPv6", v6 + rst, "tcp [2001:db8::7]:443"},
		{"the end of a connection", v4 + "01bb 8000 00000005 00000001 5014 0000 0000 0000", ""},
		{"no reset", v4 + "01bb 8000 00000000 00000001 5012 0000 0000 0000", ""},
		{"cut", v4 + "01bb 8000 00000000", ""},
		{"no header", "4500", ""},
		{"a header that is too short", "41" + strings.Repeat("00", 40), ""},
		{"another version", "55" + strings.Repeat("00", 60), ""},
		{"nothing", "", ""},
		{"ICMP", "4500003800000000 4001 0000 c6336407 7f000001 0303 0000 00000000 4500001d00000000 4011 0000 7f000001 c6336407 8000 01bb 0009 0000", "udp 198.51.100.7:443"},
		{"ICMP about TCP", "4500003800000000 4001 0000 c6336407 7f000001 0303 0000 00000000 4500001d00000000 4006 0000 7f000001 c6336407 8000 01bb 0009 0000", "tcp 198.51.100.7:443"},
		{"UDP to a group", "4500001d00000000 4011 0000 7f000001 effffffa 8000 076c 0009 0000", "udp 239.255.255.250:1900"},
		{"UDP to a group by IPv6", "600000000009 11 40 20010db8000000000000000000000007 ff0200000000000000000000000000fb 8000 14e9 0009 0000", "udp [ff02::fb]:5353"},
		{"UDP to all", "4500001d00000000 4011 0000 7f000001 ffffffff 8000 0009 0009 0000", "udp 255.255.255.255:9"},
		{"UDP to one", "4500001d00000000 4011 0000 7f000001 f0000001 8000 0009 0009 0000", ""},
		{"UDP to a group, cut", "4500001d00000000 4011 0000 7f000001 effffffa 8000", ""},
		{"an echo", "4500003800000000 4001 0000 c6336407 7f000001 0800 0000 00000000 4500001d00000000 4011 0000 7f000001 c6336407 8000 01bb 0009 0000", ""},
		{"ICMP, cut", "4500003800000000 4001 0000 c6336407 7f000001 0303 0000 00000000 4500001d00000000 4011 0000 7f000001 c6336407 8000", ""},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(c.packet, " ", ""))
		if err != nil {
			t.Fatal(c.what, err)
		}
		network, to, ok := ParseRefusal(b)
		got := ""
		if ok {
			got = network + " " + to.String()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

func FuzzParseRefusal(f *testing.F) {
	f.Add([]byte("E"))
	f.Add([]byte("`\x00\x00\x00\x00\x00\x3a\x00" + strings.Repeat("s", 16) + strings.Repeat("d", 16) + "\x01\x04\x00\x00\x00\x00\x00\x00" +
		"`\x00\x00\x00\x00\x00\x3a\x00" + strings.Repeat("s", 16) + strings.Repeat("d", 16) + "\x80\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		network, to, ok := ParseRefusal(b)
		if ok != to.IsValid() || ok && network != "tcp" && network != "udp" {
			t.Errorf("%q, %v, %v", network, to, ok)
		}
	})
}
