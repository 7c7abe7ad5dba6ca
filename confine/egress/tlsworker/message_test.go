package tlsworker

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// TestMessageEncoding holds the encoding of every message. mcp-jail and mcp-jail-tls may come
// from different builds, and only the version tells them apart: who changes a message changes
// the version, and this test.
func TestMessageEncoding(t *testing.T) {
	rule := policy.NetRule{Host: "a.test", Scheme: "https", Port: 443, PathPrefix: "/x", Methods: []string{"GET"}, Allow: true, Where: "f:1",
		Secrets: []policy.Secret{{Env: "T", File: "/f", Header: []string{"Authorization"}, Where: "f:2"}}}
	var got strings.Builder
	for _, m := range []message{
		{Rules: &rulesMessage{Version: version, Rules: []policy.NetRule{rule}, Roots: []byte("r"), Connections: 2}},
		{Secrets: map[string][]byte{"T": []byte("v")}},
		{Secrets: map[string][]byte{"": nil}, Leaks: newLeaksMessage(egress.Leaks{Secrets: []leak.Secret{{Name: "T", Value: "v"}}, Tokens: true, Block: true})},
		{Serve: &serveMessage{ID: 1, Head: []byte("h"), Name: "a.test", Port: 443, TLS: true, Addr: netip.MustParseAddrPort("1.2.3.4:5")}},
		{Upstream: &upstreamMessage{Dial: 1, Error: "e"}},
		{End: 1},
		{Hello: &helloMessage{Version: version, CA: []byte("c")}},
		{Ready: true},
		{Failed: "f"},
		{Dial: &dialMessage{ID: 1, Dial: 2}},
		{Denied: &deniedMessage{ID: 1, Why: policy.DeniedRequest, Detail: "d"}},
		{Leak: &leakMessage{ID: 1, Place: egress.PlaceURL, Name: "T", Form: leak.Plain}},
		{Done: 1},
		{Took: true},
		{Rules: &rulesMessage{Version: version, Check: &checkMessage{Dir: "/d", Port: 1, PID: 2, Program: "/p"}}},
	} {
		b, err := m.encode(maxMessage)
		testkit.Must(t, err)
		got.Write(append(b, '\n'))
	}
	const want = `{"rules":{"version":11,"rules":[{"Host":"a.test","Scheme":"https","Port":443,"PathPrefix":"/x","Methods":["GET"],"Secrets":[{"Env":"T","File":"/f","Command":null,"Header":["Authorization"],"Where":"f:2"}],"Allow":true,"Where":"f:1"}],"roots":"cg==","connections":2}}
{"secrets":{"T":"dg=="}}
{"secrets":{"":null},"leaks":{"names":["T"],"values":["dg=="],"tokens":true,"block":true}}
{"serve":{"id":1,"head":"aA==","name":"a.test","port":443,"tls":true,"addr":"1.2.3.4:5"}}
{"upstream":{"dial":1,"error":"e"}}
{"end":1}
{"hello":{"version":11,"ca":"Yw=="}}
{"ready":true}
{"failed":"f"}
{"dial":{"id":1,"dial":2}}
{"denied":{"id":1,"why":"request","detail":"d"}}
{"leak":{"id":1,"place":"the URL","name":"T","form":"as it is"}}
{"done":1}
{"took":true}
{"rules":{"version":11,"rules":null,"connections":0,"check":{"dir":"/d","port":1,"pid":2,"program":"/p"}}}
`
	if got.String() != want {
		t.Errorf("the messages are\n%s", &got)
	}
}
