package egress

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestParseRefusal(t *testing.T) {
	for _, row := range testkit.Rows(t, "refusals.txt", 3) {
		what, packet, want := row[0], row[1], row[2]
		b, err := hex.DecodeString(strings.ReplaceAll(packet, " ", ""))
		if err != nil {
			t.Fatal(what, err)
		}
		network, to, ok := parseRefusal(b)
		got := ""
		if ok {
			got = network + " " + to.String()
		}
		testkit.Equal(t, what, got, want)
	}
}

func FuzzParseRefusal(f *testing.F) {
	f.Add([]byte("E"))
	f.Add([]byte("`\x00\x00\x00\x00\x00\x3a\x00" + strings.Repeat("s", 16) + strings.Repeat("d", 16) + "\x01\x04\x00\x00\x00\x00\x00\x00" +
		"`\x00\x00\x00\x00\x00\x3a\x00" + strings.Repeat("s", 16) + strings.Repeat("d", 16) + "\x80\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		network, to, ok := parseRefusal(b)
		if ok != to.IsValid() || ok && network != "tcp" && network != "udp" {
			t.Errorf("%q, %v, %v", network, to, ok)
		}
	})
}
