package tlsworker

import (
	"encoding/json"
	"fmt"
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
		{Setup: newSetupMessage(Setup{Rules: []policy.NetRule{rule}, Roots: []byte("r"), Secrets: map[string]string{"T": "v"},
			Leaks: egress.Leaks{Secrets: []leak.Secret{{Name: "T", Value: "v"}}, Tokens: true, Block: true}})},
		{Serve: &serveMessage{ID: 1, Head: []byte("h"), Name: "a.test", Port: 443, TLS: true, Addr: netip.MustParseAddrPort("1.2.3.4:5")}},
		{Answer: &answerMessage{ID: 2, Error: "e"}},
		{Hello: &helloMessage{Version: version, CA: []byte("c")}},
		{Failed: "f"},
		{Dial: &dialMessage{ID: 2, For: 1}},
		{Denied: &deniedMessage{ID: 2, For: 1, Why: policy.DeniedRequest, Detail: "d"}},
		{Leak: &leakMessage{ID: 2, For: 1, Place: egress.PlaceURL, Name: "T", Form: leak.Plain}},
		{Connected: 1},
	} {
		b := testkit.Get(json.Marshal(m))(t)
		got.Write(append(b, '\n'))
	}
	const want = `{"setup":{"version":12,"rules":[{"Host":"a.test","Scheme":"https","Port":443,"PathPrefix":"/x","Methods":["GET"],"Secrets":[{"Env":"T","File":"/f","Command":null,"Header":["Authorization"],"Where":"f:2"}],"Allow":true,"Where":"f:1"}],"secrets":{"T":"dg=="},"roots":"cg==","leak_names":["T"],"leak_values":["dg=="],"leak_tokens":true,"leak_block":true}}
{"serve":{"id":1,"head":"aA==","name":"a.test","port":443,"tls":true,"addr":"1.2.3.4:5"}}
{"answer":{"id":2,"error":"e"}}
{"hello":{"version":12,"ca":"Yw=="}}
{"failed":"f"}
{"dial":{"id":2,"for":1}}
{"denied":{"id":2,"for":1,"why":"request","detail":"d"}}
{"leak":{"id":2,"for":1,"place":"the URL","name":"T","form":"as it is"}}
{"connected":1}
`
	testkit.Equal(t, fmt.Sprintf("the messages are\n%s", &got), got.String(), want)
}
