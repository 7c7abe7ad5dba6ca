//go:build unix

package stateless

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// TestClientInfos: workers are for what the client has said last in their era, and the same words
// are the same client.
func TestClientInfos(t *testing.T) {
	t.Parallel()
	var i clientInfos
	if era, info := i.currentClient(); era != mcpproxy.Legacy || info != nil || i.latestClientInfo() != nil {
		t.Error("a client is known that has said nothing")
	}
	record := func(line string) *clientInfo {
		f := mcpproxy.Parse([]byte(line))
		if e := &f.Messages[0]; string(e.Method) == "initialize" {
			return i.recordInitialize(f, e)
		}
		return i.recordModern(f, &f.Messages[0])
	}
	modern := record(sessiontest.Modern("1", "tools/list", ""))
	if era, info := i.currentClient(); era != mcpproxy.Modern || info != modern {
		t.Error("a request without a description is not that of the modern client")
	}
	legacy := record(sessiontest.ClientHello)
	if era, info := i.currentClient(); era != mcpproxy.Legacy || info != legacy || i.infoFor(mcpproxy.Modern) != modern || i.latestClientInfo() != legacy {
		t.Error("the two eras are not kept apart")
	}
	if record(sessiontest.Modern("2", "prompts/list", "")) != modern || record(sessiontest.ClientHello) != legacy {
		t.Error("the same words are another client")
	}
	if other := record(sessiontest.ModernBy("other", "3", "tools/list", "")); other == modern || other.matches(modern) || other.matches(legacy) || i.latestClientInfo() != other {
		t.Error("other words are the same client")
	}
}
