//go:build unix

package answers

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
	var i KnownClient
	if era, info := i.Current(); era != mcpproxy.Legacy || info != nil || i.Latest() != nil {
		t.Error("a client is known that has said nothing")
	}
	record := func(line string) *ClientInfo {
		f := mcpproxy.Parse([]byte(line))
		if e := &f.Messages[0]; string(e.Method) == "initialize" {
			return i.RecordInitialize(f, e)
		}
		return i.RecordModern(f, &f.Messages[0])
	}
	modern := record(sessiontest.Modern("1", "tools/list", ""))
	if era, info := i.Current(); era != mcpproxy.Modern || info != modern {
		t.Error("a request without a description is not that of the modern client")
	}
	legacy := record(sessiontest.ClientHello)
	if era, info := i.Current(); era != mcpproxy.Legacy || info != legacy || i.For(mcpproxy.Modern) != modern || i.Latest() != legacy {
		t.Error("the two eras are not kept apart")
	}
	for _, same := range []struct {
		line string
		want *ClientInfo
	}{
		{sessiontest.Modern("2", "prompts/list", ""), modern},
		{sessiontest.ClientHello, legacy},
		{sessiontest.Modern("3", "tools/list", ""), modern},
		{strings.Replace(sessiontest.ClientHello, `"params":{`, `"params":{"_meta":{"progressToken":1},`, 1), legacy},
	} {
		if got := record(same.line); got != same.want || i.Latest() != same.want {
			t.Errorf("the same words are another client, or it is not the latest: %s", same.line)
		}
	}
	if other := record(sessiontest.ModernBy("other", "3", "tools/list", "")); other == modern || other.Matches(modern) || other.Matches(legacy) || i.Latest() != other {
		t.Error("other words are the same client")
	}
	for _, row := range []struct {
		a, b *ClientInfo
		want bool
	}{
		{nil, nil, true},
		{nil, legacy, false},
		{legacy, nil, false},
		{legacy, &ClientInfo{era: legacy.era, key: legacy.key}, true},
		{legacy, &ClientInfo{era: mcpproxy.Modern, key: legacy.key}, false},
		{modern, &ClientInfo{era: mcpproxy.Legacy, key: modern.key}, false},
		{legacy, &ClientInfo{era: legacy.era, key: []byte("{}")}, false},
	} {
		if row.a.Matches(row.b) != row.want {
			t.Errorf("%+v is the same client as %+v: want %t", row.a, row.b, row.want)
		}
	}
}
