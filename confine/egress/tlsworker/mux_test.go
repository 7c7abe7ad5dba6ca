package tlsworker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// muxes returns the two ends of a stream. Both receive until the end of the test.
func muxes(t *testing.T) (a, b *mux) {
	one, two := io.Pipe()
	three, four := io.Pipe()
	write := func(w io.Writer) func([]byte) error {
		return func(p []byte) error { _, err := w.Write(p); return err }
	}
	a, b = newMux(maxMessage, write(two)), newMux(maxMessage, write(four))
	nothing := func(message) error { return nil }
	go func() { b.receive(one, nothing); b.end() }()
	go func() { a.receive(three, nothing); a.end() }()
	t.Cleanup(func() { two.Close(); four.Close() })
	return a, b
}

func open(t *testing.T, a, b *mux, id uint32) (x, y *conn) {
	x = testkit.Get(a.open(id))(t)
	y = testkit.Get(b.open(id))(t)
	return x, y
}

// TestConn: bytes arrive in their order, each direction ends for itself, and a connection that is not read holds up
// no other.
func TestConn(t *testing.T) {
	a, b := muxes(t)
	stuck, unread := open(t, a, b, 1)
	text := strings.Repeat("0123456789", 100_000)
	go io.WriteString(stuck, text)
	x, y := open(t, a, b, 2)
	go func() {
		io.WriteString(x, text)
		x.CloseWrite()
	}()
	testkit.Equal(t, "bytes", string(testkit.Get(io.ReadAll(y))(t)), text)
	testkit.Is(t, "written after the end", testkit.ErrorOf(x.Write([]byte("x"))), net.ErrClosed)
	go func() {
		io.WriteString(y, "back")
		y.Close()
	}()
	testkit.Equal(t, "", string(testkit.Get(io.ReadAll(x))(t)), "back")
	<-x.done
	testkit.Fails(t, "a number was used twice", testkit.ErrorOf(a.open(1)), "")
	if got, err := io.ReadAll(io.LimitReader(unread, int64(len(text)))); string(got) != text || err != nil {
		t.Errorf("read at last: %d bytes, %v", len(got), err)
	}
	unread.SetLinger(0)
	unread.Close()
	testkit.Is(t, "after a reset", testkit.ErrorOf(stuck.Read(make([]byte, 1))), errReset)
	testkit.Equal(t, "a connection is left", len(a.conns)+len(b.conns), 0)
}

// TestConnDeadlines: a deadline ends a Read and a Write that wait, and one that was moved does not.
func TestConnDeadlines(t *testing.T) {
	a, b := muxes(t)
	x, y := open(t, a, b, 1)
	x.SetReadDeadline(time.Unix(1, 0))
	x.SetReadDeadline(time.Time{})
	go io.WriteString(y, "ab")
	testkit.Works(t, "moved", testkit.ErrorOf(io.ReadFull(x, make([]byte, 2))))
	x.SetDeadline(time.Now().Add(20 * time.Millisecond))
	testkit.Is(t, "read", testkit.ErrorOf(x.Read(make([]byte, 1))), os.ErrDeadlineExceeded)
	if n, err := x.Write(make([]byte, 2*window)); !errors.Is(err, os.ErrDeadlineExceeded) || n > window {
		t.Errorf("%d bytes were written: %v", n, err)
	}
}

// TestReceiveRefuses: a side that breaks the protocol ends the stream, and takes no more memory than its windows.
func TestReceiveRefuses(t *testing.T) {
	frame := func(kind byte, id uint32, payload []byte) []byte {
		b := binary.BigEndian.AppendUint32([]byte{kind}, id)
		return append(binary.BigEndian.AppendUint32(b, uint32(len(payload))), payload...)
	}
	full := frame(frameData, 1, make([]byte, maxData))
	for _, c := range []struct {
		name, why string
		stream    []byte
	}{
		{"control", "EOF", bytes.Repeat(full, window/maxData)},
		{"a connection that is not open", "EOF", frame(frameData, 9, make([]byte, maxData))},
		{"more than a window", "credit", bytes.Repeat(full, window/maxData+1)},
		{"too much credit", "credit", frame(frameCredit, 1, []byte{0, 0, 0, 1})},
		{"half a credit", "credit", frame(frameCredit, 1, []byte{0})},
		{"a long frame", "a frame of", frame(frameData, 1, make([]byte, maxData+1))},
		{"an endless message", "a frame of", frame(frameMessage, 0, make([]byte, maxMessage+1))},
		{"a message that is none", "invalid", frame(frameMessage, 0, []byte("x"))},
		{"another kind", "kind 99", frame(99, 1, nil)},
		{"half a frame", "unexpected EOF", full[:20]},
	} {
		m := newMux(maxMessage, func([]byte) error { return nil })
		_, err := m.open(1)
		testkit.Must(t, err)
		testkit.Fails(t, c.name, m.receive(bytes.NewReader(c.stream), func(message) error { return nil }), c.why)
	}
}
