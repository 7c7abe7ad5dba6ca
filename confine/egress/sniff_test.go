package egress

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestSniffProtocol(t *testing.T) {
	names := map[protocol]string{protoUnknown: "Unknown", protoTLS: "TLS", protoHTTP: "HTTP", protoOther: "Other"}
	for _, row := range testkit.Rows(t, "protocols.txt", 2) {
		testkit.Equal(t, row[0], names[sniffProtocol([]byte(row[0]))], row[1])
	}
}
