package registry

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Registry is an http.Handler that serves a stock. All methods may be used in parallel,
// also while it serves: a request sees the stock as it was when it began.
type Registry struct {
	closing chan struct{}
	close   sync.Once

	mu    sync.Mutex
	stock Stock // its slices are never written to
	shelf *shelf
	log   []*Request
}

// shelf is what a stock offers, with the artifacts by name. It is never changed.
type shelf struct {
	packages  map[string][]offer // in the order of publication
	wheels    map[string][]Wheel // by normal name
	artifacts map[string]artifact
}

// offer is a published version.
type offer struct {
	Package
	tarball artifact
}

// New returns a registry with a stock. It panics if the stock has a package without a
// name or a version, or with a file name that a folder cannot have.
func New(stock Stock) *Registry {
	r := &Registry{closing: make(chan struct{})}
	r.Load(stock)
	return r
}

// Load replaces the whole stock. The log stays.
func (r *Registry) Load(stock Stock) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.load(stock)
}

// load forgets the measures of all artifacts: they are taken again at the next use.
func (r *Registry) load(stock Stock) {
	s := &shelf{map[string][]offer{}, map[string][]Wheel{}, map[string]artifact{}}
	for _, p := range stock.Packages {
		if err := p.check(); err != nil {
			panic(err)
		}
		a := newArtifact("application/octet-stream", firstOf(p.Token, stock.Token), p.WriteTarball)
		a.unmeasured = p.Filler > 0 && !p.needsFacts()
		s.packages[p.Name] = append(s.packages[p.Name], offer{p, a})
		s.artifacts["/"+p.Name+"/-/"+p.tarballName()] = a
	}
	for _, w := range stock.Wheels {
		if err := w.check(); err != nil {
			panic(err)
		}
		s.wheels[normal(w.Name)] = append(s.wheels[normal(w.Name)], w)
		file, token := "/files/"+w.filename(), firstOf(w.Token, stock.Token)
		s.artifacts[file] = newArtifact("application/octet-stream", token, w.write)
		if w.Build == "" {
			write := func(to io.Writer) error { _, err := io.WriteString(to, w.Metadata()); return err }
			s.artifacts[file+".metadata"] = newArtifact("text/plain; charset=utf-8", token, write)
		}
	}
	r.stock, r.shelf = stock, s
}

// Publish adds versions. One that exists under the same name and version is replaced.
func (r *Registry) Publish(packages ...Package) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.stock
	for _, p := range packages {
		next.Packages = replace(next.Packages, p, Package.ID)
	}
	r.load(next)
}

// Upload adds wheels as Publish adds packages.
func (r *Registry) Upload(wheels ...Wheel) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.stock
	for _, w := range wheels {
		next.Wheels = replace(next.Wheels, w, Wheel.ID)
	}
	r.load(next)
}

// Fail replaces all faults.
func (r *Registry) Fail(faults ...Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stock.Faults = slices.Clone(faults)
}

func replace[T any](list []T, one T, id func(T) string) []T {
	list = slices.DeleteFunc(slices.Clone(list), func(o T) bool { return id(o) == id(one) })
	return append(list, one)
}

// Close ends all answers that stall. The registry answers nothing after it.
func (r *Registry) Close() { r.close.Do(func() { close(r.closing) }) }

// ServeHTTP answers a request. What it panics with, http.ErrAbortHandler, ends a
// connection without a word to the log of net/http.
func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	place := r.begin(Request{Method: q.Method, URI: q.RequestURI, Path: q.URL.Path, Header: q.Header.Clone()})
	defer r.note(func() { place.Open = false })
	body := readBody(q)
	r.note(func() { place.Body = body })
	stock, shelf, fault := r.look(q)
	out := &faulty{ResponseWriter: w, fault: fault, request: q, closing: r.closing, stalls: func() { r.note(func() { place.Stalled = true }) }}
	a := answer{out, q, stock, shelf}
	if fault.Delay > 0 {
		out.wait(time.After(fault.Delay))
	}
	select {
	case <-r.closing:
		panic(http.ErrAbortHandler)
	default:
	}
	if fault.Redirect != "" {
		http.Redirect(out, q, fault.Redirect+q.RequestURI, http.StatusFound)
		return
	}
	a.route()
}

// look returns the stock of the moment and the fault that is to happen.
func (r *Registry) look(q *http.Request) (Stock, *shelf, Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.stock.Faults {
		if f.matches(q) {
			return r.stock, r.shelf, f
		}
	}
	return r.stock, r.shelf, Fault{}
}

// readBody returns the start of a request's body, unpacked.
func readBody(q *http.Request) string {
	var from io.Reader = q.Body
	if q.Header.Get("Content-Encoding") == "gzip" {
		if unpacked, err := gzip.NewReader(from); err == nil {
			from = unpacked
		}
	}
	text, _ := io.ReadAll(io.LimitReader(from, maxBody))
	io.Copy(io.Discard, q.Body)
	return string(text)
}

// answer is the answer to one request.
type answer struct {
	*faulty
	q     *http.Request
	stock Stock
	shelf *shelf
}

func (a answer) route() {
	name := a.q.URL.Path
	switch {
	case name == "/-/loot": // takes everything; the log has it
		a.json(http.StatusOK, map[string]any{})
	case !a.allowed(a.stock.Token):
	case a.q.Method == http.MethodPost && strings.HasPrefix(name, "/-/npm/v1/security/"):
		a.json(http.StatusOK, map[string]any{}) // nothing is known of any package
	case a.q.Method != http.MethodGet && a.q.Method != http.MethodHead:
		a.json(http.StatusMethodNotAllowed, map[string]any{"error": "this registry is read-only"})
	case strings.HasPrefix(name, "/-/"):
		a.service(strings.TrimPrefix(name, "/-/"))
	case name == "/simple" || strings.HasPrefix(name, "/simple/"):
		a.simple(strings.Trim(strings.TrimPrefix(name, "/simple"), "/"))
	case a.shelf.artifacts[name].write != nil:
		a.artifact(a.shelf.artifacts[name])
	default:
		a.npm(strings.Trim(name, "/"))
	}
}

// allowed reports whether the request has a token, and answers it if not.
func (a answer) allowed(token string) bool {
	got := a.q.Header.Get("Authorization")
	if token == "" || got == token || got == "Bearer "+token || got == "Basic "+base64.StdEncoding.EncodeToString([]byte("__token__:"+token)) {
		return true
	}
	a.Header().Set("WWW-Authenticate", "Bearer")
	a.json(http.StatusUnauthorized, map[string]any{"error": "this needs a token"})
	return false
}

func (a answer) artifact(f artifact) {
	if !a.allowed(f.token) {
		return
	}
	a.Header().Set("Content-Type", f.kind)
	if !f.unmeasured {
		facts := f.facts()
		if a.unchanged(strconv.Quote(facts.sha1)) {
			return
		}
		a.Header().Set("Content-Length", strconv.FormatInt(facts.size, 10))
	}
	a.WriteHeader(http.StatusOK)
	if a.q.Method == http.MethodHead {
		return
	}
	if err := f.write(a); err != nil {
		panic(http.ErrAbortHandler) // the client has gone
	}
}

// unchanged sets the ETag, and answers 304 if the client has that.
func (a answer) unchanged(tag string) bool {
	a.Header().Set("ETag", tag)
	have := strings.Split(a.q.Header.Get("If-None-Match"), ",")
	same := slices.ContainsFunc(have, func(one string) bool {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		return one == tag || one == "*"
	})
	if same {
		a.WriteHeader(http.StatusNotModified)
	}
	return same
}

func (a answer) json(status int, value any) { a.encode(status, "application/json", value) }

func (a answer) encode(status int, kind string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("an answer of the registry is not JSON: %v", err))
	}
	a.text(status, kind, string(text))
}

func (a answer) text(status int, kind, text string) {
	a.Header().Set("Content-Type", kind)
	sum := sha256.Sum256([]byte(text))
	if status == http.StatusOK && a.unchanged(strconv.Quote(hex.EncodeToString(sum[:16]))) {
		return
	}
	a.Header().Set("Content-Length", strconv.Itoa(len(text)))
	a.WriteHeader(status)
	if a.q.Method != http.MethodHead {
		io.WriteString(a, text)
	}
}

// base returns what the addresses in an answer begin with.
func (a answer) base() string {
	switch {
	case a.stock.Base != "":
		return strings.TrimRight(a.stock.Base, "/")
	case a.q.TLS != nil:
		return "https://" + a.q.Host
	}
	return "http://" + a.q.Host
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}
