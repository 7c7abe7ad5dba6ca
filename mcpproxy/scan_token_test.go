package mcpproxy

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestTokens checks the spans of ids and tokens: replacing them changes nothing else.
func TestTokens(t *testing.T) {
	type want struct{ id, cancels, token, sent string }
	for in, want := range testkit.Named[want](t, "tokens.txt") {
		for _, batch := range []bool{false, true} {
			line, sentWant := in+"\r\n", want.sent+"\r\n"
			if batch {
				const more = `{"id":1,"params":{"_meta":{"progressToken":2},"requestId":3}}`
				line, sentWant = "[ "+more+", "+in+" ,"+more+"]\n", "[ "+more+", "+want.sent+" ,"+more+"]\n"
			}
			f, err := NewReader(iotest.OneByteReader(strings.NewReader(line)), 0).Next()
			testkit.Must(t, err)
			e := &f.Messages[len(f.Messages)/2]
			if string(e.ID) != want.id || string(e.Cancels) != want.cancels || string(e.Token) != want.token {
				t.Errorf("%s: id %s, cancels %s, token %s", line, e.ID, e.Cancels, e.Token)
			}
			for _, token := range []struct {
				value []byte
				at    Span
				text  string
			}{{e.ID, e.IDAt, "ID"}, {e.Cancels, e.CancelsAt, "CANCELS"}, {e.Token, e.TokenAt, "TOKEN"}} {
				if !bytes.Equal(f.Slice(token.at), token.value) {
					t.Errorf("%s: %s stands at %+v", line, token.value, token.at)
				}
				if f.Replace(token.at, []byte(token.text)) != (token.value != nil) {
					t.Errorf("%s: %s was not replaced", line, token.value)
				}
			}
			if got := sent(t, f); got != sentWant {
				t.Errorf("%s\n got %s\nwant %s", line, got, sentWant)
			}
		}
	}
}
