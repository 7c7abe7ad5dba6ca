package mcpproxy

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestScanEnvelope(t *testing.T) {
	type want struct {
		id, method, name, code string
		kind                   Kind
		era                    Era
		isError                bool
		flaws                  Flaw
	}
	tests := []struct {
		line string
		want want
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, want{id: "1", method: "initialize", kind: Request, era: Legacy}},
		{`{"method":"tools/call","id":9007199254740993,"params":{"arguments":{"name":"no"},"name":"add"}}`, want{id: "9007199254740993", method: "tools/call", name: "add", kind: Request}},
		{`{"\u006dethod":"a\/b","id":"x\"\u00e9\\"}`, want{id: `"x\"\u00e9\\"`, method: "a/b", kind: Request}},
		{` { "id" : 1.5 , "result" : { "isError" : true } } `, want{id: "1.5", kind: Response, isError: true}},
		{`{"id":-0.1e+5,"error":{"code":-32601,"message":"x","data":{"code":1}}}`, want{id: "-0.1e+5", code: "-32601", kind: Response}},
		{`{"id":null,"method":"m"}`, want{id: "null", method: "m", kind: Request}},
		{`{"id":"","method":""}`, want{id: `""`, method: "", kind: Request}},
		{`{"method":"notifications/cancelled","params":{"requestId":1}}`, want{method: "notifications/cancelled", kind: Notification}},
		{`{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, want{id: "1", method: "tools/list", kind: Request, era: Modern}},
		{`{"id":1,"result":{"isError":false}}`, want{id: "1", kind: Response}},
		{`{"id":1,"result":{"x":{"isError":true}}}`, want{id: "1", kind: Response}},
		{`{"id":1,"id":2,"method":"m"}`, want{id: "2", method: "m", kind: Request, flaws: FlawDuplicate}},
		{`{"id":1,"Method":"x","method":"m"}`, want{id: "1", method: "m", kind: Request, flaws: FlawCase}},
		{`{"id":1,"method":"m","params":{"name":"a","name":"b"}}`, want{id: "1", method: "m", name: "b", kind: Request, flaws: FlawDuplicate}},
		{`{"id":1,"method":"m","params":{"name":"a"},"params":{}}`, want{id: "1", method: "m", kind: Request, flaws: FlawDuplicate}},
		{`{"id":1,"method":"m","params":{"arguments":{"a":1,"a":2}}}`, want{id: "1", method: "m", kind: Request}},
		{"{\"id\":1,\"method\":\"m\xff\"}", want{id: "1", method: "m\xff", kind: Request, flaws: FlawText}},
		{`{"id":1,"method":"\ud83d\ude00"}`, want{id: "1", method: "😀", kind: Request}},
		{`{"id":1,"method":"m"}{"id":2}`, want{id: "1", method: "m", kind: Request, flaws: FlawTrailing}},
		{`{"id":[1],"method":"m"}`, want{method: "m", kind: Notification, flaws: FlawID}},
		{`{"id":1,"result":{"a":[NaN,Infinity],"b":-Infinity,"isError":true}}`, want{id: "1", kind: Response, isError: true, flaws: FlawNumber}},
		{`{"id":NaN,"method":"m"}`, want{method: "m", kind: Notification, flaws: FlawNumber | FlawID}},
		{byteOrderMark + `{"id":1,"method":"m"}`, want{id: "1", method: "m", kind: Request, flaws: FlawText}},
		{`{"id":1,"method":"m"`, want{id: "1", method: "m", kind: Request, flaws: FlawMalformed}},
	}
	for _, tt := range tests {
		for _, step := range []int{len(tt.line), 1, 3, 7} {
			var s scanner
			for i := 0; i < len(tt.line); i += step {
				s.feed([]byte(tt.line)[i:min(i+step, len(tt.line))])
			}
			msgs, flaws := s.finish()
			if len(msgs) != 1 {
				t.Fatalf("%s: %d messages", tt.line, len(msgs))
			}
			e := &msgs[0]
			got := want{string(e.ID), string(e.Method), string(e.Name), string(e.Code), e.Kind(), e.Era(), e.IsError, flaws}
			if got != tt.want {
				t.Errorf("%s (steps of %d):\n got %+v\nwant %+v", tt.line, step, got, tt.want)
			}
		}
	}
}

func TestScanBounds(t *testing.T) {
	var s scanner
	long := `{"id":"` + strings.Repeat("x", maxText) + `","method":"m"}`
	msgs, flaws := s.scan([]byte(long))
	if msgs[0].ID != nil || string(msgs[0].Method) != "m" || flaws != FlawBounds {
		t.Errorf("id of %d bytes, method %q, flaws %b", len(msgs[0].ID), msgs[0].Method, flaws)
	}
	for depth, want := range map[int]Flaw{maxDepth: 0, maxDepth + 1: FlawMalformed} {
		if _, flaws := s.scan([]byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))); flaws != want {
			t.Errorf("depth %d: flaws %b, want %b", depth, flaws, want)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"a"}}}`,
		`{"id":"\u0061","result":{"content":[{}],"isError":true,"_meta":{"a":1}}}`, `[{"id":1},{"id":2}]`, `{"id":1e5}`, "{\"a\":\"\xc3\xa9\"}\r\n{}\n", `[1,2`, ` `, `{"method":"\ud83d\ude00"}`, `{"a":"😀"}`,
		`{"error":{"code":-1}}`, `{"a":[[],{},"",0,-0.1,true,false,null]} x`,
		`{"a":[NaN,-Infinity]}`, byteOrderMark + `{"id":1}`,
		`{"a":"` + strings.Repeat("b", 2*32) + `\n` + strings.Repeat("c", 2*32) + `\"` + strings.Repeat("d", 3*32) + `\u0061"}`,
		`{"a":"` + strings.Repeat(`b\"c`, 200) + `0061` + strings.Repeat("d", 200) + `","id":"` + strings.Repeat(`\`, 4200) + `"}`,
		`{"a":"` + strings.Repeat("é", 2*32) + "\x1f" + strings.Repeat("c", 32) + `","b":"\\\\"}`,
	} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, step int) {
		step = max(1, step&0xff)
		// The frame holds the bytes of the input.
		r := NewReader(iotest.OneByteReader(bytes.NewReader(data)), 0)
		var out bytes.Buffer
		w := NewWriter(&out)
		for {
			fr, err := r.Next()
			if err == io.EOF {
				break
			}
			testkit.Must(t, err)
			w.Send(fr)
		}
		if !bytes.Equal(out.Bytes(), data) {
			t.Fatalf("%q became %q", data, out.Bytes())
		}

		line, _, _ := bytes.Cut(data, []byte("\n"))
		var s, chunked scanner
		msgs, flaws := s.scan(line)
		for i := 0; i < len(line); i += step {
			chunked.feed(line[i:min(i+step, len(line))])
		}
		again, flawsAgain := chunked.finish()
		if flaws != flawsAgain || !reflect.DeepEqual(msgs, again) {
			t.Fatalf("%q: in chunks of %d: %b %v, whole: %b %v", line, step, flawsAgain, again, flaws, msgs)
		}
		valid := !flaws.Has(FlawMalformed | FlawTrailing)
		if valid != json.Valid(bytes.TrimPrefix(line, []byte(byteOrderMark))) && !flaws.Has(FlawNumber) {
			t.Fatalf("%q: scanner says valid %v", line, valid)
		}
		if !flaws.IsStrict() || s.firstByte != '{' {
			return
		}
		var ref struct {
			ID     json.RawMessage
			Method any
			Params any
			Result any
		}
		testkit.Must(t, json.Unmarshal(line, &ref))
		e := msgs[0]
		if !bytes.Equal(e.ID, ref.ID) {
			t.Fatalf("%q: id %q, encoding/json says %q", line, e.ID, ref.ID)
		}
		if m, ok := ref.Method.(string); ok != (e.Method != nil) || m != string(e.Method) {
			t.Fatalf("%q: method %q, encoding/json says %q", line, e.Method, m)
		}
		params, _ := ref.Params.(map[string]any)
		if n, ok := params["name"].(string); ok != (e.Name != nil) || n != string(e.Name) {
			t.Fatalf("%q: name %q, encoding/json says %q", line, e.Name, n)
		}
		result, _ := ref.Result.(map[string]any)
		if is := result["isError"] == true; is != e.IsError {
			t.Fatalf("%q: isError %v", line, e.IsError)
		}
		if e.Params.Present() && !json.Valid(line[e.Params.Start:e.Params.End]) {
			t.Fatalf("%q: params at %+v", line, e.Params)
		}
	})
}

// BenchmarkScan measures the scan of one frame.
func BenchmarkScan(b *testing.B) {
	for _, size := range []struct {
		name string
		line []byte
	}{
		{"200B", callOf(200)}, {"10kB", callOf(10_000)}, {"1MB", callOf(1_000_000)},
		{"1MB-log", []byte(`{"id":1,"result":"` + strings.Repeat(`The quick brown fox jumps over the lazy dog, again and again.\n`, 16_000) + `"}`)},
		{"1MB-base64", []byte(`{"id":1,"result":"` + strings.Repeat(`iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ`, 22_000) + `"}`)},
		{"1MB-dense", []byte(`{"id":1,"result":[` + strings.Repeat(`{"a":1,"b":[true,null]},`, 41_000) + `0]}`)},
		{"1MB-escapes", []byte(`{"id":1,"result":"` + strings.Repeat(`{\"a\": \"b\"},\n`, 62_000) + `"}`)},
		{"1MB-utf8", []byte(`{"id":1,"result":"` + strings.Repeat("héllo wörld, 世界 ", 45_000) + `"}`)},
	} {
		b.Run(size.name, func(b *testing.B) {
			var s scanner
			b.SetBytes(int64(len(size.line)))
			b.ReportAllocs()
			for b.Loop() {
				s.scan(size.line)
			}
		})
	}
}

// TestLongStrings puts what ends or breaks a string at each place of long ones, with and without
// escapes and characters beyond ASCII before it, and compares with encoding/json.
func TestLongStrings(t *testing.T) {
	const most = 80
	var c comparison
	for _, before := range []string{"a", `a\n`, "é", `\"`, strings.Repeat("b", 16) + `\\`, strings.Repeat("b", 7) + `\"`} {
		for _, here := range []string{"", `"`, `\`, `\\`, `\"`, `\n`, `\x`, `\u00e9`, `\u00eg`, "\x00", "\x1f", "\x7f", "\x80", "é", "\xe9", `","b":"`, `\"\"\"\"\"\"\"\"\"`} {
			for n := range most {
				text := strings.Repeat(before, n/len(before)) + strings.Repeat("c", n%len(before)) + here
				for _, after := range []string{"", "d", strings.Repeat("d", most), strings.Repeat("d", most) + `\t`, `\t` + strings.Repeat("d", most)} {
					c.compare(t, `{"id":"`+text+after+`","method":"`+after+`m"}`)
				}
			}
		}
	}
}

// comparison compares scans with encoding/json.
type comparison struct{ whole, parts scanner }

func (c *comparison) compare(t *testing.T, line string) {
	t.Helper()
	messages, flaws := c.whole.scan([]byte(line))
	var want struct {
		ID     json.RawMessage
		Method string
	}
	if valid := json.Unmarshal([]byte(line), &want) == nil; valid == flaws.Has(FlawMalformed|FlawTrailing) {
		t.Fatalf("%q: valid for encoding/json: %v, flaws %b", line, valid, flaws)
	} else if valid && (string(messages[0].ID) != string(want.ID) || string(messages[0].Method) != want.Method) {
		t.Fatalf("%q: id %q, method %q", line, messages[0].ID, messages[0].Method)
	}
	half := len(line) / 2
	c.parts.reset()
	c.parts.feed([]byte(line[:half]))
	c.parts.feed([]byte(line[half:]))
	if _, again := c.parts.finish(); again != flaws {
		t.Fatalf("%q: flaws %b, in two parts %b", line, flaws, again)
	}
}

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
