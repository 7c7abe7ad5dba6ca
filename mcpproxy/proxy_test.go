package mcpproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// sink is an Upstream that keeps the frames sent to it.
type sink struct{ bytes.Buffer }

func (s *sink) Send(f *Frame) error { return NewWriter(s).Send(f) }

func TestRunClient(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\r\n" +
		"not json\n\n" +
		`[{"id":"a","method":"x"},{"id":"b","method":"tools/call","params":{"name":"n"}},{"method":"y"}]` + "\n" +
		`{"id":null,"method":"m"}` + "\n" +
		`{"method":"notifications/cancelled","params":{"requestId":1}}` + "\n" +
		`{"id":0,"result":{}}`
	var requests []string
	p := NewProxy(NewConn(strings.NewReader(in), io.Discard, 0), Hooks{ClientRequest: func(f *Frame, e *Envelope) bool { requests = append(requests, string(e.ID)); return false }})
	p.ServerRequests.Add(&Envelope{ID: []byte("0"), Method: []byte("roots/list")}, time.Now(), 0)
	var up sink
	testkit.Must(t, p.RunClient(&up))
	if up.String() != in {
		t.Errorf("forwarded %q", up.String())
	}
	if fmt.Sprint(requests) != `[1 "a" "b" null]` {
		t.Errorf("requests %v", requests)
	}
	if p.ServerRequests.Len() != 0 || p.Requests.Len() != 2 { // the cancelled one is no longer waited for
		t.Errorf("%d of the server and %d of the client are open", p.ServerRequests.Len(), p.Requests.Len())
	}
	var c Call
	if !p.Requests.Take([]byte(`"b"`), &c) || c.Batch == 0 || string(c.Tool) != "n" {
		t.Errorf("call %+v", c)
	}
}

// TestHooksDrop: a hook can keep a request from the server, and a frame or a response that
// matches nothing from the client.
func TestHooksDrop(t *testing.T) {
	in := `{"id":1,"method":"tools/call","params":{"name":"n"}}` + "\n" +
		`[{"id":2,"method":"tools/call","params":{"name":"n"}},{"id":3,"method":"x"}]` + "\n" + `{"id":4,"method":"x"}` + "\n"
	p := NewProxy(NewConn(strings.NewReader(in), io.Discard, 0), Hooks{ClientRequest: func(f *Frame, e *Envelope) bool { return string(e.Method) == "tools/call" }})
	var up sink
	testkit.Must(t, p.RunClient(&up))
	if want := `[{"id":3,"method":"x"}]` + "\n" + `{"id":4,"method":"x"}` + "\n"; up.String() != want || p.Requests.Len() != 2 {
		t.Errorf("%d are open, the server got %q", p.Requests.Len(), up.String())
	}
	var out bytes.Buffer
	p.Client = NewConn(nil, &out, 0)
	p.Hooks.ServerFrame = func(f *Frame) bool { return f.Flaws.Has(FlawDuplicate) }
	p.Hooks.UnmatchedResponse = func(e *Envelope) bool { return e.Result.Present() }
	lines := []string{`{"id":"4","result":1}`, `{"id":4,"id":9,"result":2}`, `{"id":4,"result":3}`, `{"id":null,"error":{}}`, `{"method":"m"}`, ""}
	testkit.Must(t, p.RunServer(NewConn(strings.NewReader(strings.Join(lines, "\n")), io.Discard, 0)))
	if want := strings.Join(lines[2:], "\n"); out.String() != want || p.Requests.Len() != 1 {
		t.Errorf("%d are open, the client got %q", p.Requests.Len(), out.String())
	}
}

// TestHooksWithdraw: a hook withdraws a request whose id an open one has. That one stays.
func TestHooksWithdraw(t *testing.T) {
	in := `{"id":1,"method":"x"}` + "\n" + `{"id":1,"method":"tools/call"}` + "\n"
	p := NewProxy(NewConn(strings.NewReader(in), io.Discard, 0), Hooks{})
	p.Hooks.ClientRequest = func(_ *Frame, e *Envelope) bool {
		held := string(e.Method) == "tools/call"
		if held {
			p.Requests.Withdraw(e.ID)
		}
		return held
	}
	testkit.Must(t, p.RunClient(new(sink)))
	var c Call
	if !p.Requests.Take([]byte("1"), &c) || string(c.Method) != "x" || p.Requests.Len() != 0 {
		t.Errorf("%q is open, and %d more", c.Method, p.Requests.Len())
	}
}

func TestRunServer(t *testing.T) {
	pass := `{"id":0,"method":"roots/list"}` + "\n" + // the server's id 0 is not the client's
		`{"id":0,"result":{"content":[]}}` + "\r\n" +
		`[{"id":"a","result":{}},{"id":"b","error":{"code":-1}}]` + "\n" +
		`{"method":"notifications/progress","params":{}}` + "\n" +
		`{"id":99,"result":{}}` + "\n" + // matches no request, and is left to the client
		`{"id":3,"result":{}}{}` + "\n"
	in := "Listening\n" + pass[:40] + pass[40:] + `{"id":7,"result":{}}` + "\n" + `{"id":8,"resu`
	var seen, junk []string
	first := 0
	var out bytes.Buffer
	p := NewProxy(NewConn(strings.NewReader(""), &out, 0), Hooks{
		FirstResponse:  func(*Envelope, *Call) bool { first++; return true },
		ServerResponse: func(f *Frame, e *Envelope, c *Call) { seen = append(seen, string(c.ID)+string(c.Method)) },
		NonMessage:     func(f *Frame) { junk = append(junk, string(f.Bytes())) },
	})
	for _, id := range []string{"0", `"a"`, `"b"`, "3", "7", "8"} {
		p.Requests.Add(&Envelope{ID: []byte(id), Method: []byte("m")}, time.Now(), 0)
	}
	p.Requests.Answer(func(c *Call) bool { return string(c.ID) == "7" })
	testkit.Must(t, p.RunServer(NewConn(strings.NewReader(in), io.Discard, 0)))
	if out.String() != pass {
		t.Errorf("forwarded %q", out.String())
	}
	if fmt.Sprint(seen) != `[0m "a"m "b"m 3m]` || first != 1 {
		t.Errorf("seen %v, %d first answers", seen, first)
	}
	if fmt.Sprintf("%q", junk) != `["Listening\n" "{\"id\":8,\"resu"]` {
		t.Errorf("junk %q", junk)
	}
	if p.Requests.Len() != 1 || p.ServerRequests.Len() != 1 {
		t.Errorf("%d of the client and %d of the server are open", p.Requests.Len(), p.ServerRequests.Len())
	}
}

func TestRunServerOversized(t *testing.T) {
	var out bytes.Buffer
	var ids []string
	p := NewProxy(NewConn(strings.NewReader(""), &out, 0), Hooks{Oversized: func(from Side, f *Frame) { ids = append(ids, string(f.Messages[0].ID)) }})
	in := `{"result":"` + strings.Repeat("x", 100) + `","id":4}` + "\n" + `{"method":"m"}`
	testkit.Must(t, p.RunServer(NewConn(strings.NewReader(in), io.Discard, 50)))
	if fmt.Sprint(ids) != "[4]" || out.String() != `{"method":"m"}` {
		t.Errorf("ids %v, forwarded %q", ids, out.String())
	}
}

func TestClientGone(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	p := NewProxy(NewConn(strings.NewReader(""), w, 0), Hooks{})
	err := p.RunServer(NewConn(strings.NewReader(`{"method":"m"}`), io.Discard, 0))
	if !errors.Is(err, ErrClientGone) || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
	broken := errors.New("broken")
	if err := p.RunServer(NewConn(iotest.ErrReader(broken), io.Discard, 0)); err != broken {
		t.Errorf("error %v", err)
	}
}

// TestProxyAnsweredInABatch checks that only the responses to Answered requests are cut
// out of a batch.
func TestProxyAnsweredInABatch(t *testing.T) {
	in := `[{"id":1,"result":{}} , {"id":2,"result":{}}, 7, {"id":3,"result":{}}, {"id":4,"result":{}}]` + "\r\n" +
		`[{"id":5,"result":{}},{"id":6,"result":{}}]` + "\n" + `{"id":7,"result":{}}` + "\n" + `{"id":8,"result":{}}` + "\n"
	want := `[{"id":2,"result":{}}, 7]` + "\r\n" + `{"id":8,"result":{}}` + "\n"
	var out bytes.Buffer
	p := NewProxy(NewConn(strings.NewReader(""), &out, 0), Hooks{})
	for id := range 9 {
		p.Requests.Add(&Envelope{ID: fmt.Append(nil, id), Method: []byte("tools/call")}, time.Now(), 0)
	}
	p.Requests.Answer(func(c *Call) bool { return string(c.ID) != "2" && string(c.ID) != "8" })
	testkit.Must(t, p.RunServer(NewConn(strings.NewReader(in), io.Discard, 0)))
	if out.String() != want {
		t.Errorf("forwarded %q", out.String())
	}
}

// TestProxyCancelled covers cancellations by both sides, and both meanings of a server's.
func TestProxyCancelled(t *testing.T) {
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
	testkit.Must(t, p.RunClient(&up))
	if p.Requests.Len() != 3 {
		t.Errorf("%d of the client are open", p.Requests.Len())
	}
	testkit.Must(t, p.RunServer(NewConn(strings.NewReader(note("0")+note("1")+note("1")), io.Discard, 0)))
	if p.Requests.Len() != 2 || p.ServerRequests.Len() != 0 {
		t.Errorf("%d of the client and %d of the server are open", p.Requests.Len(), p.ServerRequests.Len())
	}
}

// TestProxyServerRequest checks that a request taken by Hooks.ServerRequest is not
// forwarded, and that a client's response to an Answered request is not forwarded either.
func TestProxyServerRequest(t *testing.T) {
	var out bytes.Buffer
	var replies []string
	p := NewProxy(NewConn(strings.NewReader(`{"id":1,"result":{}}`+"\n"+`{"id":2,"result":{}}`+"\n"), &out, 0), Hooks{
		ServerRequest:  func(e *Envelope) bool { return string(e.Method) == "roots/list" },
		ClientResponse: func(_ *Frame, e *Envelope, c *Call) { replies = append(replies, string(c.Method)) },
	})
	in := `{"id":0,"method":"roots/list"}` + "\n" + `[{"id":1,"method":"roots/list"},{"id":1,"method":"ping"}]` + "\n" + `{"id":2,"method":"x"}` + "\n"
	testkit.Must(t, p.RunServer(NewConn(strings.NewReader(in), io.Discard, 0)))
	if want := `[{"id":1,"method":"ping"}]` + "\n" + `{"id":2,"method":"x"}` + "\n"; out.String() != want {
		t.Errorf("forwarded %q", out.String())
	}
	p.ServerRequests.Answer(func(c *Call) bool { return string(c.ID) == "2" })
	var up sink
	testkit.Must(t, p.RunClient(&up))
	if up.String() != `{"id":1,"result":{}}`+"\n" || fmt.Sprint(replies) != "[ping]" {
		t.Errorf("forwarded %q, replies %v", up.String(), replies)
	}
}

// TestProxyTooManyPending: requests of either side for which the table has no room, or whose id is too
// long, are told of and not forwarded. Answers make room.
func TestProxyTooManyPending(t *testing.T) {
	for _, from := range []Side{FromClient, FromServer} {
		var asks, answers, toClient bytes.Buffer
		var toServer sink
		fmt.Fprintf(&asks, `{"id":"%s","method":"m"}`+"\n", strings.Repeat("x", MaxID-1)) // with its quotes too long
		for i := range MaxOpen + 100 {
			fmt.Fprintf(&asks, `{"id":%d,"method":"m"}`+"\n", i)
			fmt.Fprintf(&answers, `{"id":%d,"result":{}}`+"\n", i)
		}
		asks.WriteString(`[{"id":"a","method":"m"},{"id":"b","method":"m"},{"method":"n"}]` + "\n")
		refused := 0
		hooks := Hooks{TooManyPending: func(side Side, e *Envelope) {
			if side == from && string(e.Method) == "m" {
				refused++
			}
		}}
		clientSays, serverSays := &asks, &answers
		if from == FromServer {
			clientSays, serverSays = &answers, &asks
		}
		p := NewProxy(NewConn(clientSays, &toClient, 0), hooks)
		runClient := func() { testkit.Must(t, p.RunClient(&toServer)) }
		runServer := func() { testkit.Must(t, p.RunServer(NewConn(serverSays, io.Discard, 0))) }
		table, sent, run, runOther := p.Requests, &toServer.Buffer, runClient, runServer
		if from == FromServer {
			table, sent, run, runOther = p.ServerRequests, &toClient, runServer, runClient
		}
		run()
		if n := strings.Count(sent.String(), `"id"`); refused != 103 || n != MaxOpen || table.Len() != n || !strings.HasSuffix(sent.String(), `[{"method":"n"}]`+"\n") {
			t.Errorf("side %d: %d were refused, %d sent, %d are open", from, refused, n, table.Len())
		}
		runOther()
		if table.Len() != 0 {
			t.Errorf("side %d: %d requests are left", from, table.Len())
		}
	}
}
