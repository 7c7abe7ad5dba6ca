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
	for in, want := range map[string]want{
		`{"id":7,"method":"m"}`:                      {id: "7", sent: `{"id":ID,"method":"m"}`},
		`{ "method":"m", "id" : "a\u0062" }`:         {id: `"a\u0062"`, sent: `{ "method":"m", "id" : ID }`},
		`{"id":null,"result":{}}`:                    {id: "null", sent: `{"id":ID,"result":{}}`},
		`{"id":-1.5e3}`:                              {id: "-1.5e3", sent: `{"id":ID}`},
		`{"id":1,"id":22,"method":"m"}`:              {id: "22", sent: `{"id":1,"id":ID,"method":"m"}`},
		`{"id":1,"id":[2],"method":"m"}`:             {sent: `{"id":1,"id":[2],"method":"m"}`},
		`{"ID":1,"method":"m","params":{"id":3}}`:    {sent: `{"ID":1,"method":"m","params":{"id":3}}`},
		`{"method":"m","params":{"requestId":"x"}}`:  {cancels: `"x"`, sent: `{"method":"m","params":{"requestId":CANCELS}}`},
		`{"params":{"requestId":1,"requestId":{}}}`:  {sent: `{"params":{"requestId":1,"requestId":{}}}`},
		`{"params":{"requestId":1},"params":{}}`:     {sent: `{"params":{"requestId":1},"params":{}}`},
		`{"params":{"x":{"requestId":1},"_meta":1}}`: {sent: `{"params":{"x":{"requestId":1},"_meta":1}}`},

		`{"id":0,"method":"m","params":{"_meta":{"progressToken":"t"}}}`:                               {id: "0", token: `"t"`, sent: `{"id":ID,"method":"m","params":{"_meta":{"progressToken":TOKEN}}}`},
		`{"id":0,"method":"m","params":{"progressToken":1,"_meta":{"a":1, "progressToken":99 }}}`:      {id: "0", token: "99", sent: `{"id":ID,"method":"m","params":{"progressToken":1,"_meta":{"a":1, "progressToken":TOKEN }}}`},
		`{"id":0,"method":"m","params":{"_meta":{"progressToken":1,"progressToken":2}}}`:               {id: "0", token: "2", sent: `{"id":ID,"method":"m","params":{"_meta":{"progressToken":1,"progressToken":TOKEN}}}`},
		`{"id":0,"method":"m","params":{"_meta":{"progressToken":1},"_meta":{}}}`:                      {id: "0", sent: `{"id":ID,"method":"m","params":{"_meta":{"progressToken":1},"_meta":{}}}`},
		`{"id":0,"method":"m","params":{"_meta":{"progressToken":1}},"params":{}}`:                     {id: "0", sent: `{"id":ID,"method":"m","params":{"_meta":{"progressToken":1}},"params":{}}`},
		`{"method":"notifications/progress","params":{"progressToken":5,"_meta":{"progressToken":6}}}`: {token: "5", sent: `{"method":"notifications/progress","params":{"progressToken":TOKEN,"_meta":{"progressToken":6}}}`},
		`{"params":{"progress":1,"progressToken":"p"},"method":"notifications/progress"}`:              {token: `"p"`, sent: `{"params":{"progress":1,"progressToken":TOKEN},"method":"notifications/progress"}`},
		`{"params":{"progressToken":5},"params":{},"method":"notifications/progress"}`:                 {sent: `{"params":{"progressToken":5},"params":{},"method":"notifications/progress"}`},
		`{"method":"notifications/progress","params":{"progressToken":true}}`:                          {sent: `{"method":"notifications/progress","params":{"progressToken":true}}`},
	} {
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
