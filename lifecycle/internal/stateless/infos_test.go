//go:build unix

package stateless

import (
	"strings"
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
	for _, same := range []struct {
		line string
		want *clientInfo
	}{
		{sessiontest.Modern("2", "prompts/list", ""), modern},
		{sessiontest.ClientHello, legacy},
		{sessiontest.Modern("3", "tools/list", ""), modern},
		{strings.Replace(sessiontest.ClientHello, `"params":{`, `"params":{"_meta":{"progressToken":1},`, 1), legacy},
	} {
		if got := record(same.line); got != same.want || i.latestClientInfo() != same.want {
			t.Errorf("the same words are another client, or it is not the latest: %s", same.line)
		}
	}
	if other := record(sessiontest.ModernBy("other", "3", "tools/list", "")); other == modern || other.matches(modern) || other.matches(legacy) || i.latestClientInfo() != other {
		t.Error("other words are the same client")
	}
	for _, row := range []struct {
		a, b *clientInfo
		want bool
	}{
		{nil, nil, true},
		{nil, legacy, false},
		{legacy, nil, false},
		{legacy, &clientInfo{era: legacy.era, key: legacy.key}, true},
		{legacy, &clientInfo{era: mcpproxy.Modern, key: legacy.key}, false},
		{modern, &clientInfo{era: mcpproxy.Legacy, key: modern.key}, false},
		{legacy, &clientInfo{era: legacy.era, key: []byte("{}")}, false},
	} {
		if row.a.matches(row.b) != row.want {
			t.Errorf("%+v is the same client as %+v: want %t", row.a, row.b, row.want)
		}
	}
}
