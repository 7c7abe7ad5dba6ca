package plan

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp/bpftest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestRefusedFilter runs the filter on packets as a packet socket sees them.
func TestRefusedFilter(t *testing.T) {
	raw := testkit.Get(compileRefused())(t)
	vm := bpftest.VM(t, raw)
	v4 := func(proto string) string {
		return "45000028" + "00004000" + "40" + proto + "0000" + "c6336401" + "c6336401"
	}
	v6 := func(next string) string {
		return "60000000" + "0014" + next + "40" + strings.Repeat("20010db8000000000000000000000001", 2)
	}
	tcp := func(seq, flags string) string {
		return "1fbbc001" + seq + "11223344" + "50" + flags + "00000000" + "0000"
	}
	for _, c := range []struct {
		what, packet string
		passes       bool
	}{
		{"a reset that answers a SYN", v4("06") + tcp("00000000", "14"), true},
		{"the same with more flags", v4("06") + tcp("00000000", "1c"), true},
		{"the reset of a connection", v4("06") + tcp("00000001", "14"), false},
		{"a reset that answers no SYN", v4("06") + tcp("00000000", "04"), false},
		{"a SYN", v4("06") + tcp("00000000", "02"), false},
		{"SYN and acknowledgement", v4("06") + tcp("00000000", "12"), false},
		{"data", v4("06") + tcp("00000000", "18"), false},
		{"unreachable", v4("01") + "0303000000000000", true},
		{"an echo", v4("01") + "0800000000000000", false},
		{"UDP", v4("11") + "0303000000000000", false},
		{"UDP to a group", strings.Replace(v4("11"), "c6336401c6336401", "c6336401effffffa", 1) + "8000076c00090000", true},
		{"IPv6: UDP to a group", "6000000000091140" + "20010db8000000000000000000000001" + "ff0200000000000000000000000000fb" + "800014e900090000", true},
		{"with options", "46" + v4("06")[2:] + "00000000" + tcp("00000000", "14"), false},
		{"IPv6: a reset that answers a SYN", v6("06") + tcp("00000000", "14"), true},
		{"IPv6: the reset of a connection", v6("06") + tcp("00010000", "14"), false},
		{"IPv6: a SYN", v6("06") + tcp("00000000", "02"), false},
		{"IPv6: unreachable", v6("3a") + "0104000000000000", true},
		{"IPv6: too big", v6("3a") + "0200000000000000", false},
		{"IPv6: a neighbour", v6("3a") + "8700000000000000", false},
		{"IPv6: UDP", v6("11") + "0104000000000000", false},
		{"neither", strings.Repeat("05", 60), false},
		{"cut off", v4("06"), false},
		{"nothing", "", false},
	} {
		packet, err := hex.DecodeString(c.packet)
		if err != nil {
			t.Fatal(c.what, err)
		}
		n, err := vm.Run(packet)
		if (n > 0) != c.passes || c.passes && n != refusedBytes {
			t.Errorf("%s: %d bytes (%v), want it to pass: %t", c.what, n, err, c.passes)
		}
	}
}
