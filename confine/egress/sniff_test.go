package egress

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestSniffProtocol(t *testing.T) {
	names := map[protocol]string{protoUnknown: "Unknown", protoTLS: "TLS", protoHTTP: "HTTP", protoOther: "Other"}
	for _, row := range testkit.Rows(t, "protocols.txt", 2) {
		if got := names[sniffProtocol([]byte(row[0]))]; got != row[1] {
			t.Errorf("%q: %s, want %s", row[0], got, row[1])
		}
	}
}
