package mcpproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
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
	testkit.Must(t, read(&h, nil))
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

// TestReceiveTooManyReserved checks that a frame is not forwarded if it can have more reserved
// members than are found.
func TestReceiveTooManyReserved(t *testing.T) {
	const last = `{"method":"n"}`
	forged := `"_meta":{"dev.mcp-jail/denials":[]}`
	batch := func(n int) string {
		return "[" + strings.Repeat(`{"method":"m"},`, n) + `{"method":"m","params":{` + forged + `}}]`
	}
	name := func(n int) string {
		return `{"method":"m","params":{"name":"` + strings.Repeat("x", n) + `",` + forged + `}}`
	}
	for _, c := range []struct {
		in   string
		want error
	}{
		{`{"id":4,"result":{"_meta":{` + strings.Repeat(`"dev.mcp-jail/denials":[],`, 1000) + `"a":1}}}`, ErrTooManyReserved},
		{batch(maxBatch - 1), nil},
		{batch(maxBatch), ErrTooManyNames},
		{name(maxText - 31), nil},
		{name(maxText - 11), ErrTooManyNames}, // the name of the member has no room
		{name(maxText - 5), ErrTooManyNames},  // nor has that of its container
		{name(maxText + 1), nil},              // this name is not kept at all
		{`{"method":"m","params":{"_meta":{"dev.mcp-jail/` + strings.Repeat("x", maxText) + `":1}}}`, ErrTooManyNames},
		{`{"Method":"m","params":{` + forged + `}}`, nil}, // some readers ignore case
		{`{"id":1,"Result":{` + forged + `}}`, nil},
	} {
		var out bytes.Buffer
		var why error
		p := NewProxy(NewConn(strings.NewReader(""), &out, 0), Hooks{
			Oversized:       func(_ Side, f *Frame) { why = f.Err },
			ReservedMembers: func(f *Frame, e *Envelope) { f.Cut(e.Reserved) },
		})
		testkit.Must(t, p.RunServer(NewConn(strings.NewReader(c.in+"\n"+last), io.Discard, 0)))
		got := out.String()
		if !errors.Is(why, c.want) || strings.Contains(got, ReservedPrefix) || !strings.HasSuffix(got, last) || (len(got) == len(last)) != (c.want != nil) {
			t.Errorf("%.60q of %d bytes: error %v, want %v; forwarded %d bytes: %.100q", c.in, len(c.in), why, c.want, len(got), got)
		}
	}
}
