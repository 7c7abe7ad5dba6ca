package mcpproxy

import (
	"io"
	"strconv"
	"testing"
	"time"
)

// held is an Upstream that takes a frame when it may.
type held struct{ begun, may chan bool }

func (h held) Send(*Frame) error {
	h.begun <- true
	<-h.may
	return nil
}

// TestPause: the client's frames are held back, unless one is on its way or a request is open.
func TestPause(t *testing.T) {
	in, client := io.Pipe()
	came := make(chan bool, 10)
	p := NewProxy(NewConn(in, io.Discard, DefaultLimit), Hooks{ClientFrame: func(f *Frame) (taken bool) {
		came <- true
		return f.NonMessage()
	}})
	up := held{make(chan bool, 10), make(chan bool, 10)}
	done := make(chan error, 1)
	go func() { done <- p.RunClient(up) }()
	paused := func() (resume func()) { resume, _ = p.Pause(func(*Call) bool { return true }); return resume }
	write := func(line string) { io.WriteString(client, line+"\n") }

	write(`{"jsonrpc":"2.0","method":"notifications/x"}`)
	<-came
	if <-up.begun; paused() != nil {
		t.Error("paused while a frame is on its way")
	}
	up.may <- true
	write(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	<-came
	<-up.begun
	up.may <- true
	write("x")
	<-came // so the request is not on its way any more
	if paused() != nil {
		t.Error("paused while a request is open")
	}
	if resume, ok := p.Pause(func(c *Call) bool { return string(c.Method) != "ping" }); !ok {
		t.Error("a request counts that does not wait")
	} else {
		resume()
	}
	p.ServerRequests.Add(request("9"), time.Now(), 0)
	for i := range 20 { // the table has no order
		p.ServerRequests.Add(request(strconv.Itoa(100+i)), time.Now(), 0)
	}
	p.ServerRequests.Answer(func(c *Call) bool { return len(c.ID) == 3 })
	p.Requests.Answer(func(*Call) bool { return true })
	if paused() != nil {
		t.Error("paused while a request of the server is open")
	}
	p.Requests.Add(request("2"), time.Now(), 0)
	p.Requests.Forget(func(c *Call) bool { return string(c.ID) == "2" })
	p.ServerRequests.Forget(func(*Call) bool { return false })
	if p.Requests.Len() != 1 || p.ServerRequests.Len() != 0 || !p.Requests.Has(func(c *Call) bool { return string(c.ID) == "2" }) {
		t.Errorf("%d and %d requests are left", p.Requests.Len(), p.ServerRequests.Len())
	}
	p.Requests.Forget(func(*Call) bool { return false })
	resume := paused()
	if resume == nil {
		t.Fatal("not paused")
	}
	if p.ServerRequests.Add(request("9"), time.Now(), 0) {
		t.Error("the server may ask the client while that is held back")
	}
	go write(`{"jsonrpc":"2.0","method":"notifications/x"}`)
	<-came
	select {
	case <-up.begun:
		t.Error("a frame is not held back")
	case <-time.After(50 * time.Millisecond):
	}
	resume()
	<-up.begun
	if !p.ServerRequests.Add(request("9"), time.Now(), 0) {
		t.Error("the server may not ask the client afterwards")
	}
	up.may <- true
	client.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
