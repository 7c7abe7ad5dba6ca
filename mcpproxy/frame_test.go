package mcpproxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
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
		{`{"id":1,"i\u0064":2,"method":"m"}`, want{id: "2", method: "m", kind: Request, flaws: FlawDuplicate}},
		{`{"id":1,"Method":"x","method":"m"}`, want{id: "1", method: "m", kind: Request, flaws: FlawCase}},
		{`{"id":1,"paramſ":{},"method":"m"}`, want{id: "1", method: "m", kind: Request, flaws: FlawCase}},
		{`{"id":1,"method":"m","foo":1,"FOO":2}`, want{id: "1", method: "m", kind: Request, flaws: FlawCase}},
		{`{"id":1,"method":"m","foo":1,"foo":2}`, want{id: "1", method: "m", kind: Request, flaws: FlawDuplicate}},
		{`{"id":1,"method":"m","params":{"name":"a","name":"b"}}`, want{id: "1", method: "m", name: "b", kind: Request, flaws: FlawDuplicate}},
		{`{"id":1,"method":"m","params":{"name":"a"},"params":{}}`, want{id: "1", method: "m", kind: Request, flaws: FlawDuplicate}},
		{`{"id":1,"method":"m","params":{"arguments":{"a":1,"a":2}}}`, want{id: "1", method: "m", kind: Request}},
		{"{\"id\":1,\"method\":\"m\xff\"}", want{id: "1", method: "m\xff", kind: Request, flaws: FlawText}},
		{`{"id":1,"method":"\ud800"}`, want{id: "1", method: "\ufffd", kind: Request, flaws: FlawText}},
		{`{"id":1,"method":"\ud83d\ude00"}`, want{id: "1", method: "😀", kind: Request}},
		{`{"id":1,"method":"m"}{"id":2}`, want{id: "1", method: "m", kind: Request, flaws: FlawTrailing}},
		{`{"id":[1],"method":"m"}`, want{method: "m", kind: Notification, flaws: FlawID}},
		{`{"id":true,"method":"m"}`, want{method: "m", kind: Notification, flaws: FlawID}},
		{`{"id":1,"result":{"a":[NaN,Infinity],"b":-Infinity,"isError":true}}`, want{id: "1", kind: Response, isError: true, flaws: FlawNumber}},
		{`{"id":NaN,"method":"m"}`, want{method: "m", kind: Notification, flaws: FlawNumber | FlawID}},
		{byteOrderMark + `{"id":1,"method":"m"}`, want{id: "1", method: "m", kind: Request, flaws: FlawText}},
		{`{"id":1,"method":"m"`, want{id: "1", method: "m", kind: Request, flaws: FlawMalformed}},
		{`{"id":01,"method":"m"}`, want{id: "0", flaws: FlawMalformed}},
	}
	for _, tt := range tests {
		for _, step := range []int{len(tt.line), 1, 3, 7} {
			var s Scanner
			for i := 0; i < len(tt.line); i += step {
				s.Feed([]byte(tt.line)[i:min(i+step, len(tt.line))])
			}
			msgs, flaws := s.Finish()
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

func TestScanBatch(t *testing.T) {
	var s Scanner
	msgs, flaws := s.Scan([]byte(`[{"id":1,"method":"a"}, 7, {"id":"b","result":{"_meta":{}}},[{"id":9}]]`))
	if len(msgs) != 2 || !flaws.IsStrict() {
		t.Fatalf("%d messages, flaws %b", len(msgs), flaws)
	}
	if string(msgs[0].ID) != "1" || string(msgs[1].ID) != `"b"` || msgs[1].Kind() != Response {
		t.Errorf("got %+v", msgs)
	}
	many := "[" + strings.Repeat(`{"id":1},`, maxBatch) + `{"id":2}]`
	if msgs, flaws = s.Scan([]byte(many)); len(msgs) != maxBatch || flaws != FlawBounds {
		t.Errorf("%d messages, flaws %b", len(msgs), flaws)
	}
}

func TestScanBounds(t *testing.T) {
	var s Scanner
	long := `{"id":"` + strings.Repeat("x", maxText) + `","method":"m"}`
	msgs, flaws := s.Scan([]byte(long))
	if msgs[0].ID != nil || string(msgs[0].Method) != "m" || flaws != FlawBounds {
		t.Errorf("id of %d bytes, method %q, flaws %b", len(msgs[0].ID), msgs[0].Method, flaws)
	}
	for depth, want := range map[int]Flaw{maxDepth: 0, maxDepth + 1: FlawMalformed} {
		if _, flaws := s.Scan([]byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))); flaws != want {
			t.Errorf("depth %d: flaws %b, want %b", depth, flaws, want)
		}
	}
}

func TestScanDoesNotAllocate(t *testing.T) {
	var s Scanner
	line := callOf(200)
	s.Scan(line)
	if n := testing.AllocsPerRun(100, func() { s.Scan(line) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestJunk(t *testing.T) {
	for line, want := range map[string]bool{
		"": true, " ": true, "Listening on 3000": true, "[INFO] started": true, "[123] started": true, "42": true, `"text"`: true, "null": true, "[]": true,
		"{": true, `{"id":1,"result":`: true, "{}{}": false, "{}": false, "[{}]": false, `{"level":30,"msg":"x"}`: false, "{\"a\":\"\xff\"}": false,
		`{"id":1,"result":NaN}`: false, `{"id":1,"result":Nan}`: true, `{"id":1,"result":-Infinit}`: true, `{"id":1,"result":+Infinity}`: true,
		byteOrderMark + "{}": false, byteOrderMark[:2] + "{}": true, byteOrderMark + byteOrderMark + "{}": true, " " + byteOrderMark + "{}": true,
	} {
		f, err := NewReader(strings.NewReader(line+"\n"), 0).Next()
		if err != nil || f.Junk() != want {
			t.Errorf("%q: junk %v, error %v", line, f.Junk(), err)
		}
	}
}

// TestReader: the frames put together are the bytes that went in, whatever the
// sizes of frames and of reads.
func TestReader(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var in []byte
	var ids []string
	for i := range 400 {
		size := random.IntN(300)
		if i%80 == 0 {
			size = random.IntN(2 * maxInMemory)
		}
		ids = append(ids, fmt.Sprint(i))
		in = fmt.Appendf(in, `{"jsonrpc":"2.0","result":{"text":"%s"},"id":%d}`, strings.Repeat("a\\n", size/3), i)
		in = append(in, []string{"\n", "\r\n"}[i%2]...)
	}
	in = append(in, `{"id":"last","method":"m"}`...)
	ids = append(ids, `"last"`)
	for name, src := range map[string]io.Reader{
		"whole": bytes.NewReader(in), "data with error": iotest.DataErrReader(bytes.NewReader(in)), "half": iotest.HalfReader(bytes.NewReader(in)),
	} {
		r := NewReader(src, 0)
		var out bytes.Buffer
		w := NewWriter(&out)
		var got []string
		for {
			f, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if !f.Flaws.IsStrict() || len(f.Messages) != 1 {
				t.Fatalf("%s: flaws %b, %d messages in a frame of %d", name, f.Flaws, len(f.Messages), f.Size)
			}
			got = append(got, string(f.Messages[0].ID))
			if err := w.Send(f); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(out.Bytes(), in) {
			t.Errorf("%s: bytes differ", name)
		}
		if fmt.Sprint(got) != fmt.Sprint(ids) {
			t.Errorf("%s: ids %v", name, got)
		}
	}
}

func TestReaderError(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("{}\n{"), iotest.ErrReader(broken)), 0)
	for _, want := range []string{"{}\n", "{"} {
		f, err := r.Next()
		if err != nil || string(f.Bytes()) != want {
			t.Fatalf("%q, %v", f.Bytes(), err)
		}
	}
	if _, err := r.Next(); err != broken {
		t.Errorf("error %v", err)
	}
}

// TestOversized: the id is found wherever it stands, and the next frame is read.
func TestOversized(t *testing.T) {
	for _, limit := range []int64{100, maxInMemory / 2, maxInMemory + 1000} {
		pad := strings.Repeat("x", int(limit)+10)
		for _, line := range []string{
			`{"id":7,"result":{"text":"` + pad + `"}}`,
			`{"result":{"text":"` + pad + `"},"id":7}`,
		} {
			r := NewReader(strings.NewReader(line+"\n{}\n"), limit)
			f, err := r.Next()
			if err != nil || !f.Oversized || f.Err != nil || f.Size != int64(len(line))+1 || string(f.Messages[0].ID) != "7" || f.Bytes() != nil {
				t.Errorf("limit %d: %+v, %v", limit, f, err)
			}
			if f, err := r.Next(); err != nil || f.Oversized || string(f.Bytes()) != "{}\n" {
				t.Errorf("limit %d: after it: %+v, %v", limit, f, err)
			}
		}
		exact := `{"id":7,"result":"` + strings.Repeat("x", int(limit)-21) + `"}` + "\n"
		if f, err := NewReader(strings.NewReader(exact), limit).Next(); err != nil || f.Oversized || int64(len(exact)) != limit {
			t.Errorf("limit %d: a frame of just that is oversized: %v %v", limit, len(exact), err)
		}
	}
}

// TestMemory: a line beyond the limit is not held (lifecycle tests 1 GiB).
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 256 MiB")
	}
	src := io.MultiReader(strings.NewReader(`{"result":"`), io.LimitReader(endless('x'), 256<<20), strings.NewReader("\",\"id\":7}\n{}\n"))
	r := NewReader(src, 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := r.Next()
	runtime.ReadMemStats(&after)
	if err != nil || !f.Oversized || string(f.Messages[0].ID) != "7" || f.Size <= 256<<20 {
		t.Fatalf("%+v, %v", f, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 10<<20 {
		t.Errorf("%d bytes allocated in all", got)
	}
	for range 2 * shrinkAfter {
		io.Copy(io.Discard, strings.NewReader(""))
		r.frame.Size = 0
		r.shrink()
	}
	if len(r.buf) > keepBuffer {
		t.Errorf("keeps a buffer of %d", len(r.buf))
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// callOf returns a tools/call of about size bytes, with escapes as real text has.
func callOf(size int) []byte {
	text := strings.Repeat(`some text of a tool, with a \"word\" and an end.\n`, size/50+1)
	head := `{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"notes.txt","content":"`
	tail := `"},"_meta":{"progressToken":3}}}` + "\n"
	text = text[:max(0, size-len(head)-len(tail))]
	return []byte(head + strings.TrimRight(text, `\`) + tail)
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"a"}}}`,
		`{"id":"\u0061","result":{"content":[{}],"isError":true,"_meta":{"a":1}}}`, `[{"id":1},{"id":2}]`, `{"id":1e5}`, "{\"a\":\"\xc3\xa9\"}\r\n{}\n", `[1,2`, ` `, `{"method":"\ud83d\ude00"}`,
		`{"error":{"code":-1}}`, `{"a":[[],{},"",0,-0.1,true,false,null]} x`,
		`{"a":[NaN,-Infinity]}`, byteOrderMark + `{"id":1}`,
	} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, step int) {
		step = max(1, step&0xff)
		// Bytes in = bytes out.
		r := NewReader(iotest.OneByteReader(bytes.NewReader(data)), 0)
		var out bytes.Buffer
		w := NewWriter(&out)
		for {
			fr, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			w.Send(fr)
		}
		if !bytes.Equal(out.Bytes(), data) {
			t.Fatalf("%q became %q", data, out.Bytes())
		}

		line, _, _ := bytes.Cut(data, []byte("\n"))
		var s, chunked Scanner
		msgs, flaws := s.Scan(line)
		for i := 0; i < len(line); i += step {
			chunked.Feed(line[i:min(i+step, len(line))])
		}
		again, flawsAgain := chunked.Finish()
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
		if err := json.Unmarshal(line, &ref); err != nil {
			t.Fatal(err)
		}
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
