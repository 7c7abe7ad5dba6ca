package tlsworker_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/egress/intercept"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/policy"
)

// slow is a Terminator whose launcher is late: it takes its time over each refusal
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

// slowGate is a true Gate whose Terminator is a process, and late.
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
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	served, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		if res.StatusCode != 403 {
			t.Fatalf("%s", res.Status)
		}
	}
}

// onRecord fails unless n refusals are on record.
func onRecord(t *testing.T, g *egress.Gateway, n int) {
	t.Helper()
	d := g.Denials()
	if len(d) != 1 || d[0].Reason != policy.DeniedRequest || d[0].Count != n || !strings.Contains(d[0].Detail, "DELETE /x") {
		t.Errorf("%+v, want %d refusals", d, n)
	}
}

// TestRecord: a refusal that a program can have seen is on record, however late the
// launcher is, and whatever ends in between.
func TestRecord(t *testing.T) {
	const n = 20
	for _, c := range []struct {
		what string
		end  func(*testing.T, *egress.Gateway, *tlsworker.Worker)
	}{
		{"nothing ends", func(*testing.T, *egress.Gateway, *tlsworker.Worker) {}},
		{"the gate ends", func(_ *testing.T, g *egress.Gateway, _ *tlsworker.Worker) { g.Close() }},
		{"all ends", func(_ *testing.T, g *egress.Gateway, w *tlsworker.Worker) { g.Close(); w.Close() }},
		{"the process dies", func(_ *testing.T, _ *egress.Gateway, w *tlsworker.Worker) { kill(w) }},
		{"the process dies, then the gate", func(_ *testing.T, g *egress.Gateway, w *tlsworker.Worker) { kill(w); g.Close() }},
		// Its socket has something in it then that it never read, which the kernel tells
		// before it gives out what the process sent itself.
		{"the process hangs and dies", func(t *testing.T, g *egress.Gateway, w *tlsworker.Worker) {
			stop(t, w)
			io.WriteString(connect(t, g), forbidden)
			time.Sleep(20 * time.Millisecond) // until it was handed over
			kill(w)
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := start(t, func(o *tlsworker.Options) { o.Rules = toAddress() })
			g := slowGate(t, w, toAddress(), 10*time.Millisecond)
			refused(t, connect(t, g), n)
			c.end(t, g, w)
			onRecord(t, g, n)
			onRecord(t, g, n)
		})
	}
}

// stop has the process hang, and returns when it does: its threads go on for a moment.
func stop(t *testing.T, w *tlsworker.Worker) {
	t.Helper()
	if err := syscall.Kill(w.Pid(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "its threads", func() bool {
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

// TestRecordBounded: who asks what was refused gets an answer, whatever the process does.
func TestRecordBounded(t *testing.T) {
	t.Run("it talks", func(t *testing.T) {
		r := append([]policy.NetRule{{Host: flooding, Scheme: "http", Methods: []string{"GET"}, Allow: true}}, toAddress()...)
		g := slowGate(t, start(t, func(o *tlsworker.Options) { o.Rules = r }), r, time.Millisecond)
		io.WriteString(connect(t, g), forbidden)
		waitFor(t, "the flood", func() bool {
			d := g.Denials()
			return len(d) > 0 && d[0].Count > 100
		})
	})
	t.Run("it hangs", func(t *testing.T) {
		w := start(t, func(o *tlsworker.Options) { o.Rules = toAddress() })
		g := slowGate(t, w, toAddress(), time.Millisecond)
		refused(t, connect(t, g), 3)
		stop(t, w)
		for range 32 { // more than there is room for
			io.WriteString(connect(t, g), strings.Replace(forbidden, "\r\n\r\n", "\r\nX: "+strings.Repeat("x", 30<<10)+"\r\n\r\n", 1))
		}
		onRecord(t, g, 3)
		kill(w)
		onRecord(t, g, 3)
	})
}
