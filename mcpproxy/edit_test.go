package mcpproxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func frameOf(t testing.TB, line string) *Frame {
	t.Helper()
	f, err := NewReader(strings.NewReader(line), 0).Next()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func sent(t testing.TB, f *Frame) string {
	t.Helper()
	var out bytes.Buffer
	if err := NewWriter(&out).Send(f); err != nil {
		t.Fatal(err)
	}
	if kept, ok := f.AppendTo(nil); ok && string(kept) != out.String() {
		t.Errorf("kept as %q, sent as %q", kept, out.String())
	}
	return out.String()
}

// TestOwn: members of ours are found and taken out wherever some reader would
// see them, and nowhere else.
func TestOwn(t *testing.T) {
	for in, want := range map[string]string{
		`{"id":1,"result":{"_meta":{"dev.mcp-jail/denials":[1]}}}`:                                     `{"id":1,"result":{"_meta":{}}}`,
		`{"id":1,"result":{"_meta":{ "dev.mcp-jail\/x" : {"a":[]} , "b":9007199254740993}}}`:           `{"id":1,"result":{"_meta":{ "b":9007199254740993}}}`,
		`{"id":1,"result":{"_meta":{"a":1, "\u0064ev.mcp-jail/x":"s" }}}`:                              `{"id":1,"result":{"_meta":{"a":1 }}}`,
		`{"result":{"_meta":{"dev.mcp-jail/a":1,"x":2,"dev.mcp-jail/b":3,"dev.mcp-jail/a":4}},"id":1}`: `{"result":{"_meta":{"x":2}},"id":1}`,
		`{"result":{"_meta":{"dev.mcp-jail/a":1},"_meta":{}},"id":1}`:                                  `{"result":{"_meta":{},"_meta":{}},"id":1}`,
		`{"Result":{"_META":{"dev.mcp-jail/a":1}},"result":{"_Meta":{"dev.mcp-jail/a":2},"x":1}}`:      `{"Result":{"_META":{}},"result":{"_Meta":{},"x":1}}`,
		`{"id":1,"error":{"code":1,"data":{"dev.mcp-jail/failure":{}}}}`:                               `{"id":1,"error":{"code":1,"data":{}}}`,
		`[{"id":1,"result":{"_meta":{"dev.mcp-jail/a":null}}},{"id":2,"result":{"_meta":{"a":1}}}]`:    `[{"id":1,"result":{"_meta":{}}},{"id":2,"result":{"_meta":{"a":1}}}]`,
		`[{"params":{"capabilities":{"experimental":{"a":1,"dev.mcp-jail/x":{"b":2},"c":3}}}}]`:        `[{"params":{"capabilities":{"experimental":{"a":1,"c":3}}}}]`,
		`{"id":1,"result":{"content":[{"_meta":{"dev.mcp-jail/a":1}}],"dev.mcp-jail/a":1}}`:            "",
		`{"id":1,"result":{"_meta":{"dev.mcp-jail/":1,"dev.mcp-jai":2,"DEV.mcp-jail/x":3}}}`:           "",
	} {
		if want == "" {
			want = in
		}
		for _, src := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			f, err := NewReader(src, 0).Next()
			if err != nil {
				t.Fatal(err)
			}
			for i := range f.Messages {
				e := &f.Messages[i]
				f.Cut(e.Reserved, &e.ResultMeta)
			}
			if got := sent(t, f); got != want {
				t.Errorf("%s\n got %s\nwant %s", in, got, want)
			}
		}
	}
}

// TestCutThenAdd: what takes the place of a forged member is no second one.
func TestCutThenAdd(t *testing.T) {
	for _, pad := range []int{0, 1 << 17, maxInMemory + 1} {
		long := strings.Repeat("x", pad)
		for in, want := range map[string]string{
			`{"id":1,"result":{"_meta":{ "dev.mcp-jail/denials":["` + long + `"] },"content":[]}}`:   `{"id":1,"result":{"_meta":{  "dev.mcp-jail/denials":[7]},"content":[]}}`,
			`{"id":1,"result":{"_meta":{"dev.mcp-jail/denials":1,"a":"` + long + `"},"content":[]}}`: `{"id":1,"result":{"_meta":{"a":"` + long + `","dev.mcp-jail/denials":[7]},"content":[]}}`,
		} {
			f := frameOf(t, in)
			e := &f.Messages[0]
			f.Cut(e.Reserved, &e.ResultMeta)
			f.AddMeta(&e.Result, &e.ResultMeta, "dev.mcp-jail/denials", []byte("[7]"))
			if got := sent(t, f); got != want {
				t.Errorf("with %d bytes of padding: %.200s", pad, got)
			}
		}
	}
}

func TestReplace(t *testing.T) {
	f := frameOf(t, `{"id":1,"params":{"name":"x","capabilities":{"roots":{},"experimental":{"a":1}}}}`)
	e := &f.Messages[0]
	if !f.Replace(e.Roots, []byte("null")) || f.Replace(e.Result, []byte("1")) {
		t.Error("roots are there, and a result is not")
	}
	f.AddMember(&e.Experimental, "b", []byte("2"))
	f.AddMember(&e.Self, "z", []byte("3"))
	if got, want := sent(t, f), `{"id":1,"params":{"name":"x","capabilities":{"roots":null,"experimental":{"a":1,"b":2}}},"z":3}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestReplay: frames that were kept are sent as they were, between two frames.
func TestReplay(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	w.Send(frameOf(t, "{}"))
	w.Replay([]byte("{\"a\":1}\r\n{}"))
	w.Replay(nil)
	w.Inject([]byte("[]"))
	if out.String() != "{}\n{\"a\":1}\r\n{}\n[]\n" {
		t.Errorf("got %q", out.String())
	}
}

// TestAnsweredInABatch: of a batch only what was answered already is cut out.
func TestAnsweredInABatch(t *testing.T) {
	in := `[{"id":1,"result":{}} , {"id":2,"result":{}}, 7, {"id":3,"result":{}}, {"id":4,"result":{}}]` + "\r\n" +
		`[{"id":5,"result":{}},{"id":6,"result":{}}]` + "\n" + `{"id":7,"result":{}}` + "\n" + `{"id":8,"result":{}}` + "\n"
	want := `[{"id":2,"result":{}}, 7]` + "\r\n" + `{"id":8,"result":{}}` + "\n"
	var out bytes.Buffer
	p := NewProxy(NewConn(strings.NewReader(""), &out, 0), Hooks{})
	for id := range 9 {
		p.Requests.Add(&Envelope{ID: fmt.Append(nil, id), Method: []byte("tools/call")}, time.Now(), 0)
	}
	p.Requests.Answer(func(c *Call) bool { return string(c.ID) != "2" && string(c.ID) != "8" })
	if err := p.RunServer(NewConn(strings.NewReader(in), io.Discard, 0)); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("forwarded %q", out.String())
	}
}

// TestOverForged: a frame with more members of ours than are looked into is not
// forwarded at all.
func TestOverForged(t *testing.T) {
	in := `{"id":4,"result":{"_meta":{` + strings.Repeat(`"dev.mcp-jail/denials":[],`, 1000) + `"a":1}}}` + "\n{}\n"
	var out bytes.Buffer
	var why error
	p := NewProxy(NewConn(strings.NewReader(""), &out, 0), Hooks{Oversized: func(_ Side, f *Frame) { why = f.Err }})
	if err := p.RunServer(NewConn(strings.NewReader(in), io.Discard, 0)); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(why, ErrTooManyReserved) || out.String() != "{}\n" {
		t.Errorf("error %v, forwarded %q", why, out.String())
	}
}

// TestCancelled: of both sides, and by either of the two readings of a server's.
func TestCancelled(t *testing.T) {
	note := func(id string) string {
		return `{"method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"x"}}` + "\n"
	}
	p := NewProxy(NewConn(strings.NewReader(note(`"\u0061"`)+note("7")+note("99")+note("null")), io.Discard, 0), Hooks{})
	add := func(table *Pending, id, method string) {
		table.Add(&Envelope{ID: []byte(id), Method: []byte(method)}, time.Now(), 0)
	}
	add(p.Requests, `"a"`, "tools/call")
	add(p.Requests, "7", "tools/call")
	add(p.Requests, "0", "subscriptions/listen")
	add(p.Requests, "1", "tools/call")
	add(p.ServerRequests, "1", "roots/list")
	p.Requests.Answer(func(c *Call) bool { return string(c.ID) == "7" })
	var up sink
	if err := p.RunClient(&up); err != nil {
		t.Fatal(err)
	}
	if p.Requests.Len() != 3 {
		t.Errorf("%d of the client are open", p.Requests.Len())
	}
	if err := p.RunServer(NewConn(strings.NewReader(note("0")+note("1")+note("1")), io.Discard, 0)); err != nil {
		t.Fatal(err)
	}
	if p.Requests.Len() != 2 || p.ServerRequests.Len() != 0 {
		t.Errorf("%d of the client and %d of the server are open", p.Requests.Len(), p.ServerRequests.Len())
	}
}

// TestAskedOfUs: a request that is not for the client goes no further, and an
// answer of the client to one that is answered goes no further either.
func TestAskedOfUs(t *testing.T) {
	var out bytes.Buffer
	var replies []string
	p := NewProxy(NewConn(strings.NewReader(`{"id":1,"result":{}}`+"\n"+`{"id":2,"result":{}}`+"\n"), &out, 0), Hooks{
		ServerRequest:  func(e *Envelope) bool { return string(e.Method) == "roots/list" },
		ClientResponse: func(_ *Frame, e *Envelope, c *Call) { replies = append(replies, string(c.Method)) },
	})
	in := `{"id":0,"method":"roots/list"}` + "\n" + `[{"id":1,"method":"roots/list"},{"id":1,"method":"ping"}]` + "\n" + `{"id":2,"method":"x"}` + "\n"
	if err := p.RunServer(NewConn(strings.NewReader(in), io.Discard, 0)); err != nil {
		t.Fatal(err)
	}
	if want := `[{"id":1,"method":"ping"}]` + "\n" + `{"id":2,"method":"x"}` + "\n"; out.String() != want {
		t.Errorf("forwarded %q", out.String())
	}
	p.ServerRequests.Answer(func(c *Call) bool { return string(c.ID) == "2" })
	var up sink
	if err := p.RunClient(&up); err != nil {
		t.Fatal(err)
	}
	if up.String() != `{"id":1,"result":{}}`+"\n" || fmt.Sprint(replies) != "[ping]" {
		t.Errorf("forwarded %q, replies %v", up.String(), replies)
	}
}

// FuzzCut: what is left is the message without those members.
func FuzzCut(f *testing.F) {
	for _, s := range []string{
		`{"result":{"_meta":{"dev.mcp-jail/a":1,"b":2}}}`, `{"result":{"_meta":{ "b":2 , "dev.mcp-jail/a":{} }}}`, `{"error":{"data":{"dev.mcp-jail/a":"x"}}}`,
		`{"result":{"_meta":{"dev.mcp-jail/a":[{}],"dev.mcp-jail/b":-1e5}},"id":1}`, `{"params":{"_meta":{"dev.mcp-jail/a":true},"capabilities":{"experimental":{"dev.mcp-jail/x":{}}}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data, _, _ = bytes.Cut(data, []byte("\n"))
		fr, err := NewReader(bytes.NewReader(data), 0).Next()
		if err != nil || !fr.Flaws.IsStrict() || fr.firstByte != '{' {
			return
		}
		var want map[string]any
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, path := range [][]string{{"params", "_meta"}, {"params", "capabilities", "experimental"}, {"result", "_meta"}, {"error", "data"}} {
			at := want
			for _, name := range path {
				at, _ = at[name].(map[string]any)
			}
			for name := range at {
				if len(name) > len(ReservedPrefix) && strings.HasPrefix(name, ReservedPrefix) {
					delete(at, name)
					n++
				}
			}
		}
		e := &fr.Messages[0]
		if len(e.Reserved) != n {
			t.Fatalf("%q: %d members found, %d are there", data, len(e.Reserved), n)
		}
		fr.Cut(e.Reserved, &e.ResultMeta)
		var got map[string]any
		if err := json.Unmarshal([]byte(sent(t, fr)), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q became %q: %v", data, sent(t, fr), err)
		}
	})
}
