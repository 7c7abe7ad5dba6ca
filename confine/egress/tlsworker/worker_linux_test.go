package tlsworker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestWorker checks that the process forwards and refuses requests, many at once, and reports
// what it sent and refused.
func TestWorker(t *testing.T) {
	t.Parallel()
	s, root := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%s %d %t %s", r.Proto, n, r.Header.Get("Authorization") == "token "+secret, secret)
	})
	w := start(t, func(o *tlsworker.Options) { o.Roots = root })
	g := newGate(t, w, s.Listener.Addr().String())
	g.step = 100 << 10
	for _, http2 := range []bool{false, true} {
		c := g.client(t, w.CA(), http2)
		want := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[http2] + " 0 true " + strings.Repeat("*", len(secret))
		if status, body := fetch(t, c, "GET", nil); status != 200 || body != want {
			t.Errorf("%d %s", status, body)
		}
		if status, body := fetch(t, c, "DELETE", nil); status != 403 || !strings.Contains(body, "mcp-jail.toml:3") {
			t.Errorf("%d %s", status, body)
		}
		if status, body := fetch(t, c, "PUT", strings.NewReader(strings.Repeat("x", 20<<20))); status != 200 || !strings.Contains(body, fmt.Sprint(20<<20)) {
			t.Errorf("%d %s", status, body)
		}
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				c := g.client(t, w.CA(), http2)
				if status, body := fetch(t, c, "GET", nil); status != 200 || body != want {
					t.Errorf("%d %s", status, body)
				}
				c.CloseIdleConnections()
			})
		}
		all.Wait()
		c.CloseIdleConnections()
	}
	testkit.Eventually(t, "the end of all connections", func() bool { return g.open.Load() == 0 })
	if n := g.sent.Load(); n < 40<<20 {
		t.Errorf("%d bytes were counted", n)
	}
	if d := g.refused(); len(d) != 2 || d[0].Reason != policy.DeniedRequest || !strings.Contains(d[0].Detail, "DELETE /x") {
		t.Errorf("%v", d)
	}
}

// TestSentReported checks that sent bytes are reported while connections are open, in steps of
// ReportStep.
func TestSentReported(t *testing.T) {
	t.Parallel()
	s, root := upstream(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	w := start(t, func(o *tlsworker.Options) { o.Roots = root })
	g := newGate(t, w, s.Listener.Addr().String())
	g.step = 1000
	const connections, size = 10, 20000
	for range connections {
		status, _ := fetch(t, g.client(t, w.CA(), false), "PUT", strings.NewReader(strings.Repeat("x", size)))
		if status != 200 {
			t.Fatal(status)
		}
	}
	testkit.Eventually(t, "the count", func() bool { return g.sent.Load() > connections*(size-g.step) })
	if n := g.open.Load(); n != connections {
		t.Errorf("%d connections are open", n)
	}
}

// TestSentElsewhere: what other connections of the session send, in another process, counts for an
// open connection too.
func TestSentElsewhere(t *testing.T) {
	t.Parallel()
	var received atomic.Int64
	s, root := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		received.Add(n)
	})
	w := start(t, func(o *tlsworker.Options) { o.Roots = root })
	g := newGate(t, w, s.Listener.Addr().String())
	g.step, g.most = 1000, 1<<20
	c := g.client(t, w.CA(), false)
	put := func(size int) error {
		r, err := http.NewRequest("PUT", "https://"+host+"/x", strings.NewReader(strings.Repeat("x", size)))
		testkit.Must(t, err)
		res, err := c.Do(r)
		if err == nil {
			res.Body.Close()
		}
		return err
	}
	if err := put(100_000); err != nil || received.Load() != 100_000 {
		t.Fatalf("control: %v, %d bytes", err, received.Load())
	}
	g.sent.Store(g.most)
	err := put(100_000)
	s.Close() // so that all has been received
	if n := received.Load() - 100_000; err == nil || n > g.step {
		t.Errorf("%v, %d bytes more", err, n)
	}
}

// TestWorkerDies checks that connections end with the process, and that later ones are refused
// and recorded.
func TestWorkerDies(t *testing.T) {
	t.Parallel()
	wait := make(chan struct{})
	defer close(wait)
	s, root := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		http.NewResponseController(w).Flush()
		select {
		case <-wait:
		case <-r.Context().Done():
		}
	})
	w := start(t, func(o *tlsworker.Options) { o.Roots = root })
	g := newGate(t, w, s.Listener.Addr().String())
	c := g.client(t, w.CA(), true)
	res, err := c.Get("https://" + host + "/")
	testkit.Must(t, err)
	defer res.Body.Close()
	syscall.Kill(w.Pid(), syscall.SIGKILL)
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("the answer ended as if it were whole")
	}
	testkit.Eventually(t, "the end of the connection", func() bool { return g.open.Load() == 0 })
	if _, err := c.Get("https://" + host + "/"); err == nil {
		t.Error("there is an answer without the process")
	}
	testkit.Eventually(t, "the denial", func() bool {
		d := g.refused()
		return len(d) > 0 && d[0].Reason == policy.DeniedUnsupported && strings.Contains(d[0].Detail, "has ended")
	})
}

// launching is the name by which the test is a launcher that will be killed.
const launching = "launching"

func launch() {
	self, _ := os.Executable()
	w, err := tlsworker.Start(tlsworker.Options{Program: self, Rules: rules(), Secrets: map[string]string{"T": secret}})
	if err == nil {
		err = w.Ready()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(w.Pid())
	select {}
}

// TestLauncherDies checks that the process ends with the launcher.
func TestLauncherDies(t *testing.T) {
	t.Parallel()
	self, _ := os.Executable()
	out, in, err := os.Pipe()
	testkit.Must(t, err)
	defer out.Close()
	launcher, err := os.StartProcess(self, []string{launching}, &os.ProcAttr{Files: []*os.File{nil, in, nil}})
	in.Close()
	testkit.Must(t, err)
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	alive := func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && !strings.Contains(string(status), ") Z ")
	}
	if !alive() {
		t.Error("control: the process is not there")
	}
	launcher.Kill()
	launcher.Wait()
	testkit.Eventually(t, "the end of the process", func() bool { return !alive() })
}

// TestStartFails checks the errors of Start. None contains a secret.
func TestStartFails(t *testing.T) {
	t.Parallel()
	self, _ := os.Executable()
	o := tlsworker.Options{Program: self, Rules: rules(), Secrets: map[string]string{"T": "bad\r\n" + secret}}
	if w, err := tlsworker.Start(o); err == nil || !strings.Contains(err.Error(), "the secret T contains a line break") || strings.Contains(err.Error(), secret) {
		t.Errorf("%v", err)
		w.Close()
	}
	o = tlsworker.Options{Program: "/bin/true", Rules: rules()}
	if w, err := tlsworker.Start(o); err == nil {
		w.Close()
		t.Error("/bin/true was taken for the program")
	}
	o = tlsworker.Options{Program: self + "-missing", Rules: rules()}
	if _, err := tlsworker.Start(o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	o = tlsworker.Options{Program: self, Rules: []policy.NetRule{{Host: "*", Methods: []string{"GET"}, Allow: true}}}
	if w, err := tlsworker.Start(o); err == nil || !strings.Contains(err.Error(), "every host") {
		t.Errorf("%v", err)
		w.Close()
	}
}

// gated is an Interceptor whose Gateway ends when done is closed.
type gated struct {
	egress.Interceptor
	done chan struct{}
}

func (g gated) Serve(c *net.TCPConn, head []byte, t egress.Target, dial func(context.Context) (*net.TCPConn, error)) {
	t.Done = g.done
	g.Interceptor.Serve(c, head, t, dial)
}

// TestGatewayEnds: the end of a Gate does not wait for an answer that is still to come,
// and is that of its connections in the process, which may have others.
func TestGatewayEnds(t *testing.T) {
	t.Parallel()
	wait := make(chan struct{})
	defer close(wait)
	s, root := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		http.NewResponseController(w).Flush()
		<-wait
	})
	w := start(t, func(o *tlsworker.Options) { o.Roots = root })
	done := make(chan struct{})
	g := newGate(t, gated{w, done}, s.Listener.Addr().String())
	res, err := g.client(t, w.CA(), true).Get("https://" + host + "/")
	testkit.Must(t, err)
	defer res.Body.Close()
	if g.open.Load() != 1 {
		t.Fatalf("%d connections", g.open.Load())
	}
	close(done)
	testkit.Eventually(t, "the end of Serve", func() bool { return g.open.Load() == 0 })
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("the answer ended as if it were whole")
	}
}
