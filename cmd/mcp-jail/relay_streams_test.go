//go:build linux

package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

var oddIDs = []string{
	"0", "1", "-7", "-0", "9007199254740993", "-9007199254740993", "123456789012345678901234567890", "1.5", "2.0", "1e2", "1E+2", "3.14e-400",
	`""`, `"0"`, `"ü🙂"`, `"\u00fc"`, `"a\"b\\\/"`, `"\u0000"`, `"` + strings.Repeat("x", 5000) + `"`, "null",
}

// ambiguous has messages that different JSON parsers understand differently.
const ambiguous = handshake +
	`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{}}` + "\n" +
	`{"jsonrpc":"2.0","id":3,"ID":4,"method":"tools/call","params":{"name":"a","Name":"b","name":"c"}}` + "\n" +
	`{"jsonrpc":"2.0","id":5,"Method":"ping"}` + "\n" +
	`{"JSONRPC":"1.0","jsonrpc":"2.0","id":6,"\u0069d":6,"method":"tools/call","params":{"isError":false,"IsError":true,"isError":false}}` + "\n" +
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"a":1,"a":2,"A":3},"_META":{},"_meta":{}}}` + "\n" +
	`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"deep":[{"k":1,"k":2,"K":3}]},"result":{},"result":1}` + "\n"

const noText = handshake +
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"text\":\"\xff\xfe \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82\"}}\n" +
	"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"tools/call\",\"params\":{\"\xfe\":\"\\ud800\"}}\n" +
	"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}\n"

func notes(n int) []byte {
	b := []byte(handshake)
	for i := range n {
		b = fmt.Appendf(b, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d}}`+"\n", i)
	}
	return append(b, `{"jsonrpc":"2.0","id":"tally","method":"tally"}`+"\n"...)
}

func flood(n int) []byte {
	return fmt.Appendf([]byte(handshake), `{"jsonrpc":"2.0","id":"end","method":"tools/call","params":{"flood":%d}}`+"\n", n)
}

// TestStreamsUnchanged tests that difficult streams pass unchanged.
func TestStreamsUnchanged(t *testing.T) {
	t.Parallel()
	large := fmt.Appendf([]byte(handshake), `{"jsonrpc":"2.0","id":"l","method":"tools/call","params":{"text":"%s"}}`+"\n", strings.Repeat("ünd so weiter ", 750_000))
	large = append(large, `{"jsonrpc":"2.0","id":"end","method":"tools/call","params":{}}`+"\n"...)
	for name, c := range map[string]struct {
		exchange
		lines int // on stdout
	}{
		"10 MB both ways":                   {exchange{send: large, waitFor: `"id":"end"`}, 3},
		"no newline at the end":             {exchange{send: bytes.TrimSuffix(calls(numbers(3), "\n"), []byte("\n"))}, 3},
		"CR LF":                             {exchange{send: calls(numbers(10), "\r\n"), waitFor: `"id":9,`}, 11},
		"invalid UTF-8":                     {exchange{send: []byte(noText), waitFor: `"data":`}, 4},
		"ambiguous members":                 {exchange{send: []byte(ambiguous), waitFor: `"id":8`}, 7},
		"ids of every kind":                 {exchange{send: calls(oddIDs, "\n"), waitFor: `"id":null`}, len(oddIDs) + 1},
		"5,000 requests in flight":          {exchange{hold: []string{"5000"}, send: calls(numbers(5000), "\n"), waitFor: `"id":0,`}, 5001},
		"100,000 notifications of a server": {exchange{send: flood(100_000), waitFor: `"id":"end"`}, 100_002},
		"100,000 notifications of a client": {exchange{send: notes(100_000), waitFor: `"id":"tally"`}, 2},
		"a proxy that is stopped":           {exchange{send: calls(numbers(5000), "\n"), waitFor: `"id":4999,`, stopProxy: true}, 5001},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			argv := append([]string{w.copySelf(t, "mirror")}, c.hold...)
			direct := c.exchange
			direct.stopProxy = false
			want := direct.run(t, w.plain(argv...))
			if n := bytes.Count(want.stdout, []byte("\n")); n != c.lines || want.status != 0 {
				t.Fatalf("the bare server: %d lines, want %d; status %d: %.300q", n, c.lines, want.status, want.stdout)
			}
			if d := difference(want, c.run(t, w.jail(append([]string{"--"}, argv...)...))); d != "" {
				t.Error(d)
			}
		})
	}
}
