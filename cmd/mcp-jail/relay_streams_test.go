//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
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

// TestStreamsUnchanged tests that difficult streams pass unchanged. For each stream, a
// relay with one mistake is detected.
func TestStreamsUnchanged(t *testing.T) {
	t.Parallel()
	large := fmt.Appendf([]byte(handshake), `{"jsonrpc":"2.0","id":"l","method":"tools/call","params":{"text":"%s"}}`+"\n", strings.Repeat("ünd so weiter ", 750_000))
	large = append(large, `{"jsonrpc":"2.0","id":"end","method":"tools/call","params":{}}`+"\n"...)
	for name, c := range map[string]struct {
		exchange
		lossy string
		lines int // on stdout
	}{
		"a client that writes byte by byte": {exchange{mode: []string{"echo"}, send: calls(numbers(3), "\n"), bytewise: true, waitFor: `"id":2,`}, "reads", 4},
		"a server that writes byte by byte": {exchange{mode: []string{"bytewise"}, send: calls(numbers(3), "\n"), waitFor: `"id":2,`}, "reads", 4},
		"10 MB both ways":                   {exchange{mode: []string{"echo"}, send: large, waitFor: `"id":"end"`}, "short", 3},
		"no newline at the end":             {exchange{mode: []string{"echo"}, send: bytes.TrimSuffix(calls(numbers(3), "\n"), []byte("\n"))}, "ends", 3},
		"CR LF":                             {exchange{mode: []string{"echo"}, send: calls(numbers(10), "\r\n"), waitFor: `"id":9,`}, "trims", 11},
		"invalid UTF-8":                     {exchange{mode: []string{"echo"}, send: []byte(noText), waitFor: `"data":`}, "corrects", 4},
		"ambiguous members":                 {exchange{mode: []string{"echo"}, send: []byte(ambiguous), waitFor: `"id":8`}, "decodes", 7},
		"ids of every kind":                 {exchange{mode: []string{"echo"}, send: calls(oddIDs, "\n"), waitFor: `"id":null`}, "decodes", len(oddIDs) + 1},
		"5,000 requests in flight":          {exchange{mode: []string{"hold", "5000"}, send: calls(numbers(5000), "\n"), waitFor: `"id":0,`}, "drops", 5001},
		"100,000 notifications of a server": {exchange{mode: []string{"echo"}, send: flood(100_000), waitFor: `"id":"end"`}, "drops", 100_002},
		"100,000 notifications of a client": {exchange{mode: []string{"echo"}, send: notes(100_000), waitFor: `"id":"tally"`}, "forgets", 2},
		"a proxy that is stopped":           {exchange{mode: []string{"echo"}, send: calls(numbers(5000), "\n"), waitFor: `"id":4999,`, stopProxy: true}, "drops", 5001},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			program, err := faultyServer()
			must(t, err)
			direct := c.exchange
			direct.bytewise, direct.stopProxy = false, false
			want := direct.run(t, w.plain(append([]string{program}, c.mode...)...), testkit.Patience)
			if n := bytes.Count(want.stdout, []byte("\n")); n != c.lines || want.status != 0 {
				t.Fatalf("the bare server: %d lines, want %d; status %d: %.300q", n, c.lines, want.status, want.stdout)
			}
			got := c.run(t, w.jail(append([]string{"--", program}, c.mode...)...), testkit.Patience)
			if d := difference(want, got); d != "" {
				t.Error(d)
			}
			bad := c.run(t, w.plain(append([]string{program, "lossy", c.lossy}, c.mode...)...), 2*time.Second)
			if difference(want, bad) == "" {
				t.Errorf("a relay that is lossy (%s) is not noticed", c.lossy)
			}
		})
	}
}

// TestStalledReader tests that output which the client does not read waits in the server,
// not in mcp-jail, and is not lost.
func TestStalledReader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	program, err := faultyServer()
	must(t, err)
	const most = 48 << 10 // kB
	c := exchange{mode: []string{"echo"}, send: flood(250_000), waitFor: `"id":"end"`}
	want := c.run(t, w.plain(program, "echo"), testkit.Patience)
	if len(want.stdout) < 60<<20 {
		t.Fatalf("%d bytes are too few to tell", len(want.stdout))
	}
	c.readDelay = 3 * time.Second
	got := c.run(t, w.jail("--", program, "echo"), testkit.Patience)
	if d := difference(want, got); d != "" {
		t.Error(d)
	}
	if got.peakKB == 0 || got.peakKB > most {
		t.Errorf("the proxy took %d kB", got.peakKB)
	}
	c.readDelay = 0
	if bad := c.run(t, w.plain(program, "lossy", "hoards", "echo"), testkit.Patience); bad.peakKB <= most {
		t.Errorf("a relay that hoards took %d kB only: the limit says nothing", bad.peakKB)
	}
}

// TestServerDiesMidMessage tests a server that dies after half a message. The client gets
// an error response instead of half a line.
func TestServerDiesMidMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	program, err := faultyServer()
	must(t, err)
	for mode, status := range map[string]int{"half": 9, "half-killed": 137} {
		c := exchange{send: calls([]string{"1"}, "\n"), waitFor: `"code":`}
		whole := func(r transcript) (n int) {
			for line := range bytes.Lines(r.stdout) {
				if json.Valid(line) {
					n++
				}
			}
			return n
		}
		bare := c.run(t, w.plain(program, mode), testkit.Patience)
		if bare.status != status || whole(bare) != 1 || bytes.Count(bare.stdout, []byte("\n")) != 1 {
			t.Errorf("%s: the bare server: %+v", mode, bare)
		}
		got := c.run(t, w.jail("--", program, mode), testkit.Patience)
		if got.status != status || whole(got) != 2 || bytes.Count(got.stdout, []byte("\n")) != 2 || !bytes.Contains(got.stdout, []byte(`"id":1,"error":{"code":-31003`)) {
			t.Errorf("%s: status %d, want %d; stdout %q", mode, got.status, status, got.stdout)
		}
	}
}
