package analysis

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

func TestGrantedByPath(t *testing.T) {
	rules := []policy.NetRule{{Host: "a.b", PathPrefix: "/v1", Allow: true}, {Host: "a.b", PathPrefix: "/v1/admin"}, {Host: "c.d"}}
	for _, tt := range []struct {
		host string
		port int
		want bool
	}{{"a.b", 443, true}, {"a.b", 0, true}, {"a.b", 8443, false}, {"c.d", 443, false}} {
		if got := grantsHost(rules, tt.host, tt.port, ""); got != tt.want {
			t.Errorf("%s:%d is granted: %v", tt.host, tt.port, got)
		}
	}
}
