package handover_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/egress/handover"
	"github.com/mcp-jail/mcp-jail/confine/egress/terminate"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	host   = "api.example.com"
	secret = "s3cr3t-that-nobody-sees"
)

// TestMain is the program too.
func TestMain(m *testing.M) {
	switch os.Args[0] {
	case handover.Name:
	case launching:
		launch()
	default:
		os.Exit(m.Run())
	}
	log.SetOutput(io.Discard)
	err := handover.Run(func(rules []policy.NetRule, roots []byte) (handover.Worker, error) {
		t, err := terminate.New(terminate.Options{Rules: rules, MoreRoots: roots})
		switch {
		case err == nil && rules[0].Host == probing:
			return prober{t}, nil
		case err == nil && rules[0].Host == flooding:
			return flooder{t}, nil
		case err == nil && rules[0].Host == asking:
			return asker{t}, nil
		case err == nil && rules[0].Host == lingering:
			return lingerer{t}, nil
		}
		return t, err
	})
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func rules() []policy.NetRule {
	return []policy.NetRule{{Host: host, Methods: []string{"GET", "PUT"}, Secrets: []policy.Secret{{Env: "T"}}, Allow: true, Where: "mcp-jail.toml:3"}}
}

func upstream(t testing.TB, handler http.HandlerFunc) (*httptest.Server, []byte) {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func start(t testing.TB, edit func(*handover.Options)) *handover.Program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := handover.Options{Program: self, Rules: rules(), Secrets: map[string]string{"T": secret}}
	edit(&o)
	p, err := handover.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// gate takes connections in the place of an egress.Gate.
type gate struct {
	net.Listener
	program  egress.Terminator
	upstream string
	sent     atomic.Int64
	most     int64
	open     atomic.Int32

	mu      sync.Mutex
	denials []egress.Denial
}

func newGate(t testing.TB, p egress.Terminator, upstream string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Listener: l, program: p, upstream: upstream}
	var served sync.WaitGroup
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() { g.serve(c.(*net.TCPConn)) })
		}
	}()
	t.Cleanup(func() { l.Close(); served.Wait() })
	return g
}

func (g *gate) serve(c *net.TCPConn) {
	g.open.Add(1)
	defer g.open.Add(-1)
	head := make([]byte, 100)
	n, _ := c.Read(head)
	g.program.Serve(c, head[:n], egress.Target{
		Name: host, Port: 443, TLS: true,
		Sent: func(n int64) bool { return g.sent.Add(n) <= g.most || g.most == 0 },
		Deny: func(d egress.Denial) { g.mu.Lock(); g.denials = append(g.denials, d); g.mu.Unlock() },
	}, func(ctx context.Context) (*net.TCPConn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", g.upstream)
		if err != nil {
			return nil, err
		}
		return c.(*net.TCPConn), nil
	})
}

func (g *gate) client(t testing.TB, ca []byte, http2 bool) *http.Client {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		t.Fatalf("no certificate: %q", ca)
	}
	tr := &http.Transport{
		ForceAttemptHTTP2: http2, TLSClientConfig: &tls.Config{RootCAs: pool}, MaxIdleConnsPerHost: 64,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", g.Addr().String())
		},
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: time.Minute}
}

func fetch(t testing.TB, c *http.Client, method string, body io.Reader) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, "https://"+host+"/x", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "token "+policy.Placeholder("T"))
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(out)
}

// TestProgram: requests pass through the process as they should, many at once, and
// what it sees is heard of.
func TestProgram(t *testing.T) {
	s, root := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%s %d %s", r.Proto, n, r.Header.Get("Authorization"))
	})
	p := start(t, func(o *handover.Options) { o.Roots = root })
	g := newGate(t, p, s.Listener.Addr().String())
	for _, http2 := range []bool{false, true} {
		c := g.client(t, p.CA(), http2)
		want := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[http2] + " 0 token " + secret
		if status, body := fetch(t, c, "GET", nil); status != 200 || body != want {
			t.Errorf("%d %s", status, body)
		}
		if status, body := fetch(t, c, "DELETE", nil); status != 403 || !strings.Contains(body, "mcp-jail.toml:3") {
			t.Errorf("%d %s", status, body)
		}
		if status, body := fetch(t, c, "PUT", strings.NewReader(strings.Repeat("x", 50<<20))); status != 200 || !strings.Contains(body, fmt.Sprint(50<<20)) {
			t.Errorf("%d %s", status, body)
		}
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				c := g.client(t, p.CA(), http2)
				if status, body := fetch(t, c, "GET", nil); status != 200 || body != want {
					t.Errorf("%d %s", status, body)
				}
				c.CloseIdleConnections()
			})
		}
		all.Wait()
		c.CloseIdleConnections()
	}
	waitFor(t, "the end of all connections", func() bool { return g.open.Load() == 0 })
	if n := g.sent.Load(); n < 100<<20 {
		t.Errorf("%d bytes were counted", n)
	}
	if len(g.denials) != 2 || g.denials[0].Why != egress.Request || !strings.Contains(g.denials[0].Detail, "DELETE /x") {
		t.Errorf("%v", g.denials)
	}
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 2000 {
		if is() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("never came: " + what)
}

// TestLimit: a session that has sent what it may is cut off.
func TestLimit(t *testing.T) {
	s, root := upstream(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	p := start(t, func(o *handover.Options) { o.Roots = root })
	g := newGate(t, p, s.Listener.Addr().String())
	g.most = 1 << 20
	r, _ := http.NewRequest("PUT", "https://"+host+"/x", strings.NewReader(strings.Repeat("x", 200<<20)))
	if res, err := g.client(t, p.CA(), false).Do(r); err == nil {
		t.Errorf("an answer: %s", res.Status)
	}
	if n := g.sent.Load(); n > 100<<20 {
		t.Errorf("%d bytes went out", n)
	}
}

// TestDeath: the end of the process is the end of its connections, and what comes
// after is refused and recorded.
func TestDeath(t *testing.T) {
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
	p := start(t, func(o *handover.Options) { o.Roots = root })
	g := newGate(t, p, s.Listener.Addr().String())
	c := g.client(t, p.CA(), true)
	res, err := c.Get("https://" + host + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	syscall.Kill(p.Pid(), syscall.SIGKILL)
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("the answer ended as if it were whole")
	}
	waitFor(t, "the end of the connection", func() bool { return g.open.Load() == 0 })
	if _, err := c.Get("https://" + host + "/"); err == nil {
		t.Error("there is an answer without the process")
	}
	waitFor(t, "the denial", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.denials) > 0 && g.denials[0].Why == egress.Unsupported && strings.Contains(g.denials[0].Detail, "has ended")
	})
}

// launching is the name by which the test is a launcher that will be killed.
const launching = "launching"

func launch() {
	self, _ := os.Executable()
	p, err := handover.Start(handover.Options{Program: self, Rules: rules(), Secrets: map[string]string{"T": secret}})
	if err == nil {
		err = p.Ready()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.Pid())
	select {}
}

// TestOrphan: the process does not outlive the launcher.
func TestOrphan(t *testing.T) {
	self, _ := os.Executable()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	launcher, err := os.StartProcess(self, []string{launching}, &os.ProcAttr{Files: []*os.File{nil, in, nil}})
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
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
	waitFor(t, "the end of the process", func() bool { return !alive() })
}

// TestUndialled: an upstream that cannot be reached looks like that.
func TestUndialled(t *testing.T) {
	p := start(t, func(*handover.Options) {})
	g := newGate(t, p, "127.0.0.1:1")
	if res, err := g.client(t, p.CA(), true).Get("https://" + host + "/"); err == nil {
		t.Errorf("%s", res.Status)
	}
	if g.denials != nil {
		t.Errorf("%v", g.denials)
	}
}

// TestRefusals: what the process cannot do is an error of Start or of Ready, and none
// shows a secret.
func TestRefusals(t *testing.T) {
	self, _ := os.Executable()
	o := handover.Options{Program: self, Rules: rules(), Secrets: map[string]string{"T": "bad\r\n" + secret}}
	if p, err := handover.Start(o); err == nil || !strings.Contains(err.Error(), "the secret T contains a line break") || strings.Contains(err.Error(), secret) {
		p.Close()
		t.Errorf("%v", err)
	}
	o = handover.Options{Program: "/bin/true", Rules: rules()}
	if p, err := handover.Start(o); err == nil {
		p.Close()
		t.Error("/bin/true was taken for the program")
	}
	o = handover.Options{Program: self + "-missing", Rules: rules()}
	if _, err := handover.Start(o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	o = handover.Options{Program: self, Rules: []policy.NetRule{{Host: "*", Methods: []string{"GET"}, Allow: true}}}
	if p, err := handover.Start(o); err == nil || !strings.Contains(err.Error(), "every host") {
		p.Close()
		t.Errorf("%v", err)
	}
}

// TestFind: the program is taken from where the server cannot write only.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	os.Mkdir(a, 0o755)
	os.Mkdir(b, 0o755)
	nothing := func(string) bool { return false }
	self := filepath.Join(a, "mcp-jail")
	if _, err := handover.Find(self, b, nothing); !errors.Is(err, handover.ErrMissing) {
		t.Errorf("%v", err)
	}
	make := func(dir string, mode os.FileMode) string {
		file := filepath.Join(dir, handover.Name)
		if err := os.WriteFile(file, nil, mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	inPath := make(b, 0o755)
	if got, err := handover.Find(self, "relative:"+b, nothing); got != inPath || err != nil {
		t.Errorf("%s %v", got, err)
	}
	beside := make(a, 0o755)
	if got, err := handover.Find(self, b, nothing); got != beside || err != nil {
		t.Errorf("%s %v", got, err)
	}
	for _, c := range []struct {
		shut   string
		refuse bool
	}{{beside, true}, {a, false}, {dir, false}} {
		got, err := handover.Find(self, b, func(p string) bool { return p == c.shut })
		if c.refuse != (err != nil) || err != nil && !strings.Contains(err.Error(), "write to "+c.shut) {
			t.Errorf("%s can be written to: %s %v", c.shut, got, err)
		}
	}
	os.Chmod(beside, 0o644)
	for _, shut := range []string{inPath, b, dir} {
		if got, err := handover.Find(self, b, func(p string) bool { return p == shut }); err == nil || !strings.Contains(err.Error(), "write to "+shut) {
			t.Errorf("%s can be written to: %s %v", shut, got, err)
		}
	}
	if got, err := handover.Find(self, b, nothing); got != inPath || err != nil {
		t.Errorf("not executable: %s %v", got, err)
	}
}
