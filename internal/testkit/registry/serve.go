package registry

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Site is a registry that listens.
type Site struct {
	*Registry
	URL string // http://HOST:PORT, without a slash at its end

	server *http.Server
	served sync.WaitGroup
	busy   sync.RWMutex // requests in progress hold it for reading, Close for ever
	close  sync.Once
}

// Start serves a stock on a free loopback port until the test ends.
func Start(t testing.TB, stock Stock) *Site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(l, New(stock))
	t.Cleanup(s.Close)
	return s
}

// Serve serves a registry on a listener until Close.
func Serve(l net.Listener, r *Registry) *Site {
	s := &Site{Registry: r, URL: "http://" + l.Addr().String()}
	s.server = &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}
	s.served.Go(func() {
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			panic(err)
		}
	})
	return s
}

// ServeHTTP lets Close wait for the requests in progress.
func (s *Site) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if !s.busy.TryRLock() {
		panic(http.ErrAbortHandler) // it is being closed
	}
	defer s.busy.RUnlock()
	s.Registry.ServeHTTP(w, q)
}

// Close ends all connections and requests, and waits until nothing of them is left.
func (s *Site) Close() {
	s.close.Do(func() {
		s.Registry.Close()
		s.server.Close()
		s.served.Wait()
		s.busy.Lock()
	})
}

// Environ returns an environment for npm, pip and what they start: a home directory, a
// registry, no configuration of the user, no wait for what fails. PATH stays. More
// variables may be appended, and win. Several registries have the same form for npm and
// for Python: URL alone.
func Environ(url, home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "LANG=C.UTF-8",
		"HOME=" + home, "USERPROFILE=" + home, "TMPDIR=" + os.TempDir(),
		"npm_config_registry=" + url + "/", "npm_config_cache=" + filepath.Join(home, ".npm"), "npm_config_prefix=" + filepath.Join(home, ".local"),
		"npm_config_userconfig=" + filepath.Join(home, ".npmrc"), "npm_config_globalconfig=" + filepath.Join(home, "no-npmrc"),
		"npm_config_fetch_retries=0", "npm_config_update_notifier=false", "npm_config_fund=false",
		"PIP_CONFIG_FILE=" + os.DevNull, "PIP_INDEX_URL=" + url + "/simple/", "PIP_RETRIES=0", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1",
		"PIP_CACHE_DIR=" + filepath.Join(home, ".cache", "pip"), "UV_DEFAULT_INDEX=" + url + "/simple/", "UV_NO_CONFIG=1",
	}
}

// Request is one request as the log has it, from its beginning on. An aborted answer is
// logged too.
type Request struct {
	Method string
	URI    string // as it was sent: a scope has its %2f
	Path   string // decoded, without a query
	Header http.Header

	Body    string // what the client sent, up to a megabyte; gzip is undone
	Open    bool   // it has not ended
	Stalled bool   // it came to its Stall
}

// maxBody bounds what the log keeps of a request's body.
const maxBody = 1 << 20

// Requests returns the log. A client has the last byte of an answer a moment before its
// request ends, so Requests waits up to a second for open requests that do not stall.
func (r *Registry) Requests() []Request {
	for end := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond) {
		log := r.snapshot()
		busy := slices.ContainsFunc(log, func(q Request) bool { return q.Open && !q.Stalled })
		if !busy || time.Now().After(end) {
			return log
		}
	}
}

func (r *Registry) snapshot() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := make([]Request, len(r.log))
	for i, q := range r.log {
		log[i] = *q
	}
	return log
}

// Forget empties the log.
func (r *Registry) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = nil
}

// begin puts a request into the log, and returns its place there.
func (r *Registry) begin(q Request) *Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	place := &q
	place.Open = true
	r.log = append(r.log, place)
	return place
}

// note changes the place of a request in the log.
func (r *Registry) note(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// Fault is something that goes wrong with some answers. Of the faults that match a request, the first
// decides.
type Fault struct {
	// Path matches the decoded path of a request as [path.Match] does. A pattern without a slash
	// matches the last element: "*.tgz".
	Path string

	Redirect string        // 302 to this address and the path of the request
	Delay    time.Duration // before anything is answered
	Rate     int           // bytes of the body in a second

	// The rest happens after that many bytes of the body, at least one.
	After   int64
	Stall   bool // silence, until the client or the registry gives up
	Corrupt bool // one byte is another
}

func (f Fault) matches(r *http.Request) bool {
	name := r.URL.Path
	if !strings.Contains(f.Path, "/") {
		name = path.Base(name)
	}
	ok, err := path.Match(f.Path, name)
	if err != nil {
		panic("the fault's pattern " + f.Path + " is not one of path.Match")
	}
	return ok
}

// faulty is a ResponseWriter to which a fault happens. It counts what was sent.
type faulty struct {
	http.ResponseWriter
	fault   Fault
	request *http.Request
	closing <-chan struct{} // the registry ends
	stalls  func()
	sent    int64
}

func (w *faulty) flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// wait waits for the time, or until the client or the registry has gone: then it ends
// the handler.
func (w *faulty) wait(until <-chan time.Time) {
	select {
	case <-until:
	case <-w.request.Context().Done():
		panic(http.ErrAbortHandler)
	case <-w.closing:
		panic(http.ErrAbortHandler)
	}
}

func (w *faulty) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		part := p[done:]
		if left := w.fault.After - w.sent; left > 0 {
			part = part[:min(left, int64(len(part)))]
		}
		if w.fault.Rate > 0 {
			part = part[:min(len(part), max(1, w.fault.Rate/20))]
		}
		n, err := w.send(part)
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// send sends a part of the body that lies wholly before or after the place of the fault.
func (w *faulty) send(part []byte) (int, error) {
	switch {
	case w.sent != w.fault.After:
	case w.fault.Stall:
		w.flush()
		w.stalls()
		w.wait(nil)
	case w.fault.Corrupt:
		part = append([]byte{part[0] ^ 1}, part[1:]...)
	}
	n, err := w.ResponseWriter.Write(part)
	w.sent += int64(n)
	if w.fault.Rate > 0 && err == nil {
		w.flush()
		w.wait(time.After(time.Duration(n) * time.Second / time.Duration(w.fault.Rate)))
	}
	return n, err
}

//go:embed server/attack.cjs
var attackJS string

//go:embed server/attack.py
var attackPython string

// Attack is what a hostile package tries. A path may begin with "~/" and contain $NAME,
// such as $INIT_CWD, where npm was started. Each attempt is told on stderr and in Report.
type Attack struct {
	Read  []string `json:"read"`  // files to steal
	Write []string `json:"write"` // files to write; missing folders are made
	// Send lists where to send what was read: URLs, to which it is posted, and
	// tcp://HOST:PORT. The path /-/loot of a registry keeps it in the log.
	Send []string `json:"send"`
	// Report is a file for the attempts, beside the attack's own file unless absolute.
	// It is attempts.jsonl otherwise.
	Report string `json:"report"`
}

// Attempt is what came of one attempt.
type Attempt struct {
	Do     string `json:"do"` // read, write, send
	What   string `json:"what"`
	Failed string `json:"failed,omitempty"` // the error's name: "EACCES"; none if it succeeded
	Bytes  int    `json:"bytes,omitempty"`  // that were read
}

// Arm returns the package with a script that tries the attack, usually "postinstall".
// Without a script it only adds the files, of which attack.cjs must be required.
func (a Attack) Arm(p Package, script string) Package {
	p.Files = with(p.Files, map[string]string{"attack.cjs": attackJS, "attack.json": a.plan()})
	if script != "" {
		p.Scripts = with(p.Scripts, map[string]string{script: "node attack.cjs"})
	}
	return p
}

// Python returns Python code that tries the attack, for Wheel.Build. The attempts are
// told on stderr, and in Report if that is absolute.
func (a Attack) Python() string {
	file := "with open(os.path.join(HERE, \"attack.json\"), encoding=\"utf-8\") as f:\n    PLAN = json.load(f)\n"
	return strings.Replace(attackPython, file, fmt.Sprintf("PLAN = json.loads(%q)\n", a.plan()), 1)
}

func (a Attack) plan() string {
	if a.Report == "" {
		a.Report = "attempts.jsonl"
	}
	a.Read, a.Write, a.Send = append([]string{}, a.Read...), append([]string{}, a.Write...), append([]string{}, a.Send...)
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings are always JSON
	}
	return string(text)
}

// Attempts returns the attempts that a text tells, such as a report or what npm printed.
func Attempts(text string) []Attempt {
	var list []Attempt
	for line := range strings.Lines(text) {
		var a Attempt
		if at := strings.Index(line, `{"do"`); at >= 0 && json.Unmarshal([]byte(line[at:]), &a) == nil {
			list = append(list, a)
		}
	}
	return list
}

// with returns a map with the entries of another, which win.
func with(m, more map[string]string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	maps.Copy(m, more)
	return m
}
