package tlsworker_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/egress/intercept"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/policy"
)

// asking is the host of a rule that makes the process ask without end, and read nothing.
const asking = "ask.invalid"

type asker struct{ *intercept.Interceptor }

func (asker) SetSecrets(map[string]string) error {
	for launcher := launcher(); ; {
		unix.Write(launcher, []byte(`{"dial":{"id":1,"dial":1}}`))
	}
}

// launcher is the descriptor of the process's socket.
func launcher() int {
	for fd := 3; ; fd++ {
		if kind, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); kind == unix.SOCK_SEQPACKET {
			return fd
		}
	}
}

// TestAskedBounded: what a process asks for takes no more of the launcher than an honest
// one could use, also when it reads no answer.
func TestAskedBounded(t *testing.T) {
	w := start(t, func(o *tlsworker.Options) {
		o.Rules = []policy.NetRule{{Host: asking, Scheme: "http", Methods: []string{"GET"}, Allow: true}}
	})
	waitFor(t, "its end", func() bool {
		if n := runtime.NumGoroutine(); n > 10_000 {
			w.Kill()
			t.Fatalf("%d goroutines", n)
		}
		return w.Ready() != nil
	})
	if err := w.Ready(); !strings.Contains(err.Error(), "it sent more requests than its connections need") {
		t.Error(err)
	}
}

// lingering is the host of a rule that makes the process give connections back, such that
// closing them takes as long as it says.
const lingering = "linger.invalid"

type lingerer struct{ *intercept.Interceptor }

func (lingerer) Serve(c *net.TCPConn, _ []byte, t egress.Target, _ func(context.Context) (*net.TCPConn, error)) {
	c.SetLinger(3600)
	c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	for err := error(nil); err == nil; { // until nobody takes any more
		_, err = c.Write(make([]byte, 1<<20))
	}
	t.Deny(policy.DeniedRequest, "before")
	raw, _ := c.SyscallConn()
	raw.Control(func(fd uintptr) {
		unix.Sendmsg(launcher(), []byte(`{"ready":true}`), unix.UnixRights(int(fd)), nil, 0)
	})
	closed := make(chan struct{})
	go func() { c.Close(); close(closed) }()
	select {
	case <-closed: // the launcher has the last one
	case <-time.After(time.Second): // it took none
	}
	t.Deny(policy.DeniedRequest, "after")
}

// TestLinger: what the process gives to the launcher keeps nobody waiting.
func TestLinger(t *testing.T) {
	r := append([]policy.NetRule{{Host: lingering, Scheme: "http", Methods: []string{"GET"}, Allow: true}}, toAddress()...)
	g := slowGate(t, start(t, func(o *tlsworker.Options) { o.Rules = r }), r, 100*time.Millisecond)
	c := connect(t, g)
	defer c.Close() // before what waits for it
	io.WriteString(c, forbidden)
	waitFor(t, "the last refusal", func() bool {
		recorded := make(chan []policy.Denial, 1)
		go func() { recorded <- g.Denials() }()
		select {
		case d := <-recorded:
			return len(d) == 1 && d[0].Detail == "after"
		case <-time.After(5 * time.Second):
			t.Fatal("no answer to what was refused")
		}
		return false
	})
}
