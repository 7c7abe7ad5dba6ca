package tlsworker_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
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
	w, _ := start(t, root)
	g := newGate(t, w, s.Listener.Addr().String())
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %t", http2), func(t *testing.T) {
			c := g.client(t, w.CA(), http2)
			want := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[http2] + " 0 true " + strings.Repeat("*", len(secret))
			if status, body := fetch(t, c, "GET", nil); status != 200 || body != want {
				t.Errorf("%d %s", status, body)
			}
			if status, body := fetch(t, c, "DELETE", nil); status != 403 || !strings.Contains(body, "mcp-jail.toml:3") {
				t.Errorf("%d %s", status, body)
			}
			if status, body := fetch(t, c, "PUT", strings.NewReader(strings.Repeat("x", 5<<20))); status != 200 || !strings.Contains(body, fmt.Sprint(5<<20)) {
				t.Errorf("%d %s", status, body)
			}
			var all sync.WaitGroup
			for range 50 {
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
		})
	}
	testkit.Eventually(t, "the end of all connections", func() bool { return g.open.Load() == 0 })
	if d := g.refused(); len(d) != 2 || d[0].Reason != policy.DeniedRequest || !strings.Contains(d[0].Detail, "DELETE /x") {
		t.Errorf("%v", d)
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
	w, p := start(t, root)
	g := newGate(t, w, s.Listener.Addr().String())
	c := g.client(t, w.CA(), true)
	res := testkit.Get(c.Get("https://" + host + "/"))(t)
	defer res.Body.Close()
	p.Kill()
	testkit.Fails(t, "the answer ended as if it were whole", testkit.ErrorOf(io.ReadAll(res.Body)), "")
	testkit.Eventually(t, "the end of the connection", func() bool { return g.open.Load() == 0 })
	testkit.Fails(t, "there is an answer without the process", testkit.ErrorOf(c.Get("https://"+host+"/")), "")
	testkit.Eventually(t, "the denial", func() bool {
		d := g.refused()
		return len(d) > 0 && d[0].Reason == policy.DeniedUnsupported && strings.Contains(d[0].Detail, "has ended")
	})
}

// launching is the name by which the test is a launcher that will be killed.
const launching = "launching"

func launch() {
	var p tlsworker.Process
	_, err := tlsworker.Start(context.Background(), tlsworker.Options{Setup: tlsworker.Setup{Rules: rules(), Roots: []byte(os.Args[1])},
		Run: func(ctx context.Context, in, out *os.File) (_ tlsworker.Process, err error) {
			p, err = run(ctx, in, out)
			return p, err
		}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.(program).Process.Pid)
	select {}
}

// TestLauncherDies checks that the process ends with the launcher.
func TestLauncherDies(t *testing.T) {
	t.Parallel()
	_, root := upstream(t, nil)
	self, _ := os.Executable()
	out, in, err := os.Pipe()
	testkit.Must(t, err)
	defer out.Close()
	launcher, err := os.StartProcess(self, []string{launching, string(root)}, &os.ProcAttr{Files: []*os.File{nil, in, nil}})
	in.Close()
	testkit.Must(t, err)
	var pid int
	testkit.Must(t, testkit.ErrorOf(fmt.Fscan(out, &pid)))
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

// TestNotInspectable: the kernel gives the memory and the environment of the process to no other program of the user.
func TestNotInspectable(t *testing.T) {
	t.Parallel()
	_, root := upstream(t, nil)
	_, p := start(t, root)
	for _, name := range []string{"mem", "environ"} {
		info, err := os.Stat(fmt.Sprintf("/proc/%d/%s", p.Process.Pid, name))
		if err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	if info, err := os.Stat("/proc/self/mem"); err != nil || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
		t.Errorf("control: %v", err)
	}
}

// TestStartFails checks the errors of Start. None contains a secret, and no process is left.
func TestStartFails(t *testing.T) {
	t.Parallel()
	_, root := upstream(t, nil)
	for _, c := range []struct {
		path  string
		setup tlsworker.Setup
		why   string
	}{
		{"/proc/self/exe", tlsworker.Setup{Rules: rules(), Roots: root, Secrets: map[string]string{"T": "bad\r\n" + secret}}, "the secret T contains a line break"},
		{"/proc/self/exe", tlsworker.Setup{Roots: root, Rules: []policy.NetRule{{Host: "*", Methods: []string{"GET"}, Allow: true}}}, "every host"},
		{"/bin/true", tlsworker.Setup{Rules: rules(), Roots: root}, "has ended (exit status 0)"},
		{"/bin/cat", tlsworker.Setup{Rules: rules(), Roots: root}, "it broke the protocol"},
		{"/missing", tlsworker.Setup{Rules: rules(), Roots: root}, "no such file"},
	} {
		w, err := tlsworker.Start(t.Context(), tlsworker.Options{Setup: c.setup, Run: func(_ context.Context, in, out *os.File) (tlsworker.Process, error) {
			return runProgram(c.path, in, out)
		}})
		if err == nil || !strings.Contains(err.Error(), c.why) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, want %q", c.path, err, c.why)
		}
		if w != nil {
			w.Close()
		}
	}
}

// TestManyHosts: the authority's certificate names each host.
func TestManyHosts(t *testing.T) {
	t.Parallel()
	_, root := upstream(t, nil)
	var rules []policy.NetRule
	for i := range 2000 {
		rules = append(rules, policy.NetRule{Host: fmt.Sprintf("host-number-%d.example.com", i), Methods: []string{"GET"}, Allow: true})
	}
	w, err := tlsworker.Start(t.Context(), tlsworker.Options{Setup: tlsworker.Setup{Rules: rules, Roots: root}, Run: run})
	testkit.Must(t, err)
	w.Close()
}

// gated is an Interceptor whose Gateway ends when done is closed.
type gated struct {
	egress.Interceptor
	done chan struct{}
}

func (g gated) Serve(c egress.Conn, head []byte, t egress.Target, dial func(context.Context) (egress.Conn, error)) {
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
	w, _ := start(t, root)
	done := make(chan struct{})
	g := newGate(t, gated{w, done}, s.Listener.Addr().String())
	res := testkit.Get(g.client(t, w.CA(), true).Get("https://" + host + "/"))(t)
	defer res.Body.Close()
	testkit.MustEqual(t, "connections", g.open.Load(), 1)
	close(done)
	testkit.Eventually(t, "the end of Serve", func() bool { return g.open.Load() == 0 })
	testkit.Fails(t, "the answer ended as if it were whole", testkit.ErrorOf(io.ReadAll(res.Body)), "")
}
