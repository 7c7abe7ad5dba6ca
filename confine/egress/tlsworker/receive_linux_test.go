package tlsworker_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/egress/intercept"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// flooding is the host of a rule that makes the process tell of refusals without end.
const flooding = "flood.invalid"

type flooder struct{ *intercept.Interceptor }

func (flooder) Serve(c *net.TCPConn, _ []byte, t egress.Target, _ func(context.Context) (*net.TCPConn, error)) {
	for range 4 {
		go func() {
			for {
				t.Deny(policy.DeniedRequest, "again")
			}
		}()
	}
	select {}
}

// TestFlushBounded checks that Denials returns, whatever the process does.
func TestFlushBounded(t *testing.T) {
	t.Parallel()
	t.Run("it talks", func(t *testing.T) {
		t.Parallel()
		r := append([]policy.NetRule{{Host: flooding, Scheme: "http", Methods: []string{"GET"}, Allow: true}}, toAddress()...)
		g := slowGate(t, start(t, func(o *tlsworker.Options) { o.Rules = r }), r, time.Millisecond)
		io.WriteString(connect(t, g), forbidden)
		testkit.Eventually(t, "the flood", func() bool {
			d := g.Denials()
			return len(d) > 0 && d[0].Count > 100
		})
	})
	t.Run("it hangs", func(t *testing.T) {
		t.Parallel()
		w := start(t, func(o *tlsworker.Options) { o.Rules = toAddress() })
		g := slowGate(t, w, toAddress(), time.Millisecond)
		refused(t, connect(t, g), 3)
		stop(t, w)
		for range 32 { // more than there is room for
			io.WriteString(connect(t, g), strings.Replace(forbidden, "\r\n\r\n", "\r\nX: "+strings.Repeat("x", 30<<10)+"\r\n\r\n", 1))
		}
		onRecord(t, g, 3, false)
		kill(w)
		onRecord(t, g, 3, true)
	})
}

// asking is the host of a rule that makes the process ask without end, and read nothing.
const asking = "ask.invalid"

type asker struct{ *intercept.Interceptor }

func (asker) SetSecrets(map[string]string) error {
	for launcher := launcher(); ; {
		unix.Write(launcher, framed(`{"dial":{"id":1,"dial":1}}`))
	}
}

// TestRepliesBounded: what a process asks for takes no more of the launcher than an honest
// one could use, also when it reads no answer.
func TestRepliesBounded(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *tlsworker.Options) {
		o.Rules = []policy.NetRule{{Host: asking, Scheme: "http", Methods: []string{"GET"}, Allow: true}}
	})
	testkit.Eventually(t, "its end", func() bool {
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
	for err := error(nil); err == nil; { // until the buffers are full
		_, err = c.Write(make([]byte, 1<<20))
	}
	t.Deny(policy.DeniedRequest, "before")
	raw, _ := c.SyscallConn()
	raw.Control(func(fd uintptr) {
		unix.Sendmsg(launcher(), framed(`{"ready":true}`), unix.UnixRights(int(fd)), nil, 0)
	})
	closed := make(chan struct{})
	go func() { c.Close(); close(closed) }()
	select {
	case <-closed: // the launcher has the last one
	case <-time.After(time.Second): // it took none
	}
	t.Deny(policy.DeniedRequest, "after")
}

// TestReceivedDescriptors checks that closing descriptors from the process does not block.
func TestReceivedDescriptors(t *testing.T) {
	t.Parallel()
	r := append([]policy.NetRule{{Host: lingering, Scheme: "http", Methods: []string{"GET"}, Allow: true}}, toAddress()...)
	g := slowGate(t, start(t, func(o *tlsworker.Options) { o.Rules = r }), r, 100*time.Millisecond)
	c := connect(t, g)
	defer c.Close() // before what waits for it
	io.WriteString(c, forbidden)
	testkit.Eventually(t, "the last refusal", func() bool {
		recorded := make(chan []policy.Denial, 1)
		go func() { recorded <- g.Denials() }()
		select {
		case d := <-recorded:
			return len(d) == 1 && d[0].Detail == "after"
		case <-time.After(testkit.Patience):
			t.Fatal("no answer to what was refused")
		}
		return false
	})
}

// slow is an Interceptor whose launcher is late: it takes its time over each refusal
// that it hears of.
type slow struct {
	egress.Interceptor
	each time.Duration
}

func (s slow) Serve(c *net.TCPConn, head []byte, t egress.Target, dial func(context.Context) (*net.TCPConn, error)) {
	deny := t.Deny
	t.Deny = func(why policy.DenialReason, detail string) {
		time.Sleep(s.each)
		deny(why, detail)
	}
	s.Interceptor.Serve(c, head, t, dial)
}

// address is where requests are refused without anybody being reached.
var address = netip.MustParseAddrPort("198.51.100.7:80")

// slowGate returns a Gateway whose Interceptor is a process, with a slow launcher.
func slowGate(t *testing.T, w *tlsworker.Worker, rules []policy.NetRule, each time.Duration) *egress.Gateway {
	t.Helper()
	g := egress.New(egress.Options{Rules: rules, Interceptor: slow{w, each}})
	t.Cleanup(g.Close)
	return g
}

func toAddress() []policy.NetRule {
	return append(rules(), policy.NetRule{Host: address.Addr().String(), Scheme: "http", Methods: []string{"GET"}, Allow: true, Where: "mcp-jail.toml:5"})
}

// connect opens a connection of the jail to address.
func connect(t *testing.T, g *egress.Gateway) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	testkit.Must(t, err)
	t.Cleanup(func() { c.Close() })
	served, err := l.Accept()
	testkit.Must(t, err)
	g.Accept(served.(*net.TCPConn), address)
	return c
}

const forbidden = "DELETE /x HTTP/1.1\r\nHost: 198.51.100.7\r\n\r\n"

// refused asks n times for what is refused, and returns when it has seen that it is.
func refused(t *testing.T, c net.Conn, n int) {
	t.Helper()
	b := bufio.NewReader(c)
	for range n {
		io.WriteString(c, forbidden)
		res, err := http.ReadResponse(b, nil)
		testkit.Must(t, err)
		io.Copy(io.Discard, res.Body)
		if res.StatusCode != 403 {
			t.Fatalf("%s", res.Status)
		}
	}
}

// onRecord tests that n refusals of a request are on record, and no others. A connection that comes
// when the process has ended is on record for that, and is not counted. ended says that the test has
// ended the process.
func onRecord(t *testing.T, g *egress.Gateway, n int, ended bool) {
	t.Helper()
	d := slices.DeleteFunc(g.Denials(), func(d policy.Denial) bool {
		return ended && d.Reason == policy.DeniedUnsupported && strings.Contains(d.Detail, "mcp-jail-tls has ended")
	})
	if len(d) != 1 || d[0].Reason != policy.DeniedRequest || d[0].Count != n || !strings.Contains(d[0].Detail, "DELETE /x") {
		t.Errorf("%+v, want %d refusals", d, n)
	}
}

// TestRefusalsRecorded: a refusal that a program can have seen is on record, however late the
// launcher is, and whatever ends in between.
func TestRefusalsRecorded(t *testing.T) {
	t.Parallel()
	const n = 20
	for _, c := range []struct {
		what  string
		ended bool // the process
		end   func(*testing.T, *egress.Gateway, *tlsworker.Worker)
	}{
		{"nothing ends", false, func(*testing.T, *egress.Gateway, *tlsworker.Worker) {}},
		{"the gateway ends", false, func(_ *testing.T, g *egress.Gateway, _ *tlsworker.Worker) { g.Close() }},
		{"all ends", true, func(_ *testing.T, g *egress.Gateway, w *tlsworker.Worker) { g.Close(); w.Close() }},
		{"the process dies", true, func(_ *testing.T, _ *egress.Gateway, w *tlsworker.Worker) { kill(w) }},
		{"the process dies, then the gateway", true, func(_ *testing.T, g *egress.Gateway, w *tlsworker.Worker) { kill(w); g.Close() }},
		// Its socket has something in it then that it never read, which the kernel tells
		// before it gives out what the process sent itself.
		{"the process hangs and dies", true, func(t *testing.T, g *egress.Gateway, w *tlsworker.Worker) {
			stop(t, w)
			io.WriteString(connect(t, g), forbidden)
			time.Sleep(20 * time.Millisecond) // until it was handed over
			kill(w)
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			w := start(t, func(o *tlsworker.Options) { o.Rules = toAddress() })
			g := slowGate(t, w, toAddress(), 10*time.Millisecond)
			refused(t, connect(t, g), n)
			c.end(t, g, w)
			onRecord(t, g, n, c.ended)
			onRecord(t, g, n, c.ended)
		})
	}
}

// stop has the process hang, and returns when it does: its threads go on for a moment.
func stop(t *testing.T, w *tlsworker.Worker) {
	t.Helper()
	testkit.Must(t, syscall.Kill(w.Pid(), syscall.SIGSTOP))
	testkit.Eventually(t, "its threads", func() bool {
		stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", w.Pid()))
		for _, name := range stats {
			if b, _ := os.ReadFile(name); !strings.Contains(string(b), ") T ") {
				return false
			}
		}
		return len(stats) > 0
	})
}

func kill(w *tlsworker.Worker) { syscall.Kill(w.Pid(), syscall.SIGKILL) }

// launcher is the descriptor of the process's socket.
func launcher() int {
	for fd := 3; ; fd++ {
		if domain, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); domain == unix.AF_UNIX {
			return fd
		}
	}
}

func framed(message string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}
