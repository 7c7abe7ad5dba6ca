package session

import (
	"strings"
	"testing"
	"time"
)

// TestPatience tests how long a client is thought to wait for its first answer.
func TestPatience(t *testing.T) {
	for _, tt := range []struct {
		name, version string
		want          time.Duration
	}{
		{"claude-code", "2.1.330", patienceUsual},
		{"codex-mcp-client", "0.99.0", patienceShort},
		{"codex-mcp-client", "0.169.0", patienceUsual},
		{"codex-mcp-client", "1.0.0", patienceUsual},
		{"codex-mcp-client", "", patienceShort},
		{"codex-mcp-client", "nightly", patienceShort},
		{"crush", "0.169.0", patienceShort},
		{"qwen-cli-mcp-client-x", "1.0.0", patienceShort},
		{"mcp-jail learn", "1.0.0", patienceOwn},
	} {
		p := newClientPeek(nil)
		p.hear(`{"method":"initialize","params":{"clientInfo":{"name":"` + strings.ToUpper(tt.name[:1]) + tt.name[1:] + `","version":"` + tt.version + `"}}}`)
		if got := p.patience(); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.name, tt.version, got, tt.want)
		}
	}
}
