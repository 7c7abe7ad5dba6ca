package mcpproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestReceive checks that Receive passes the same frames as RunServer.
func TestReceive(t *testing.T) {
	const limit = 20_000
	in := "Listening\n" + `{"id":1,"result":{}}` + "\n" + "[7]\n" + `{"id":2,"result":"` + strings.Repeat("x", limit) + `"}` + "\n" +
		`[{"id":3,"method":"m"}]` + "\r\n" + `{"id":4,"result":{"_meta":{` + strings.Repeat(`"dev.mcp-jail/x":1,`, 100) + `"a":1}}}` + "\n" + `{"id":5,"resu`
	var seen []string
	h := Hooks{
		NonMessage: func(f *Frame) { seen = append(seen, fmt.Sprintf("junk %q", f.Bytes())) },
		Oversized: func(from Side, f *Frame) {
			seen = append(seen, fmt.Sprintf("oversized %s %v", f.Messages[0].ID, f.Err))
		},
	}
	read := func(h *Hooks, stop error) error {
		return h.Receive(NewReader(iotest.HalfReader(strings.NewReader(in)), limit), func(f *Frame) error {
			seen = append(seen, fmt.Sprintf("message %q", f.Bytes()))
			return stop
		})
	}
	if err := read(&h, nil); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`junk "Listening\n"`, `message "{\"id\":1,\"result\":{}}\n"`, `junk "[7]\n"`, "oversized 2 <nil>", `message "[{\"id\":3,\"method\":\"m\"}]\r\n"`,
		"oversized 4 " + ErrTooManyReserved.Error(), `junk "{\"id\":5,\"resu"`,
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("seen\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
	stop := errors.New("stop")
	if seen = nil; read(&Hooks{}, stop) != stop || len(seen) != 1 {
		t.Errorf("the error of message does not end it: %q", seen)
	}
	if err := h.Receive(NewReader(iotest.ErrReader(stop), 0), nil); err != stop {
		t.Errorf("error %v", err)
	}
}

// TestReceiveTooManyReserved checks that a frame with too many reserved members is not
// forwarded.
func TestReceiveTooManyReserved(t *testing.T) {
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
