package intercept

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// Keys of values in the context of a request: its jailConn and its requestState.
type (
	jailConnKey struct{}
	stateKey    struct{}
)

// ServeHTTP decides about one request of the jail and forwards or refuses it.
func (i *Interceptor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(jailConnKey{}).(*jailConn)
	rule, no := c.decide(r)
	if no == nil && c.untrusted != nil {
		no = &refusal{http.StatusBadGateway, "", "the certificate of the host cannot be verified: " + c.untrusted.Error()}
	}
	p := &requestState{body: requestBody{length: r.ContentLength, done: make(chan struct{}), trailer: r.Trailer, announced: maps.Clone(r.Trailer)}}
	if c.target.TLS {
		p.secrets = rule.Secrets
	}
	if no == nil {
		no = c.checkLeaks(r)
	}
	if no == nil && len(p.secrets) > 0 {
		if no = i.secrets.misplaced(r.Header, p.secrets); no == nil {
			no = c.checkDestination(r)
		}
	}
	if no != nil {
		c.refuse(w, r, no)
		return
	}
	// The response may begin before the body has ended.
	http.NewResponseController(w).EnableFullDuplex()
	out := &responseWriter{ResponseWriter: w, major: r.ProtoMajor, body: &p.body, mask: c.mask}
	defer p.body.stop(http.NewResponseController(w))
	i.proxy.ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), stateKey{}, p)))
	out.finish()
}

// requestState is the state of a request that is being forwarded.
type requestState struct {
	secrets []policy.Secret         // whose placeholders are replaced
	leak    atomic.Pointer[refusal] // of its body
	body    requestBody
}

// requestBody is a body that reports io.EOF together with its last byte. A separate read for
// the end could come after the response, when the body is already closed. The connection
// would then count as broken.
type requestBody struct {
	io.ReadCloser
	length int64         // bytes left; -1 if unknown
	done   chan struct{} // closed when the body was read to its end
	once   sync.Once

	trailer   http.Header // net/http adds the fields after the body
	announced http.Header // the names in the header, which were checked

	mu      sync.Mutex
	reading chan struct{} // closed when the present Read returns; nil without one
	stopped bool
}

func (u *requestBody) Read(p []byte) (int, error) {
	read := make(chan struct{})
	u.mu.Lock()
	if u.stopped {
		u.mu.Unlock()
		return 0, http.ErrBodyReadAfterClose
	}
	u.reading = read
	u.mu.Unlock()
	n, err := u.read(p)
	u.mu.Lock()
	u.reading = nil
	u.mu.Unlock()
	close(read)
	return n, err
}

// stop ends the reading of a body of which the host wanted no more, before the handler returns. The
// transport may still be in Read then, and net/http would wait for it: forever, if the body ends in
// that moment, because the end of a body clears the deadline by which net/http interrupts the read.
func (u *requestBody) stop(c *http.ResponseController) {
	u.mu.Lock()
	u.stopped = true
	reading := u.reading
	u.mu.Unlock()
	if reading == nil {
		return
	}
	if c.SetReadDeadline(time.Unix(1, 0)) == nil {
		<-reading
		c.SetReadDeadline(time.Time{})
	}
}

func (u *requestBody) read(p []byte) (int, error) {
	if u.length == 0 {
		return 0, io.EOF
	}
	n, err := u.ReadCloser.Read(p)
	if u.length > 0 {
		if u.length -= int64(n); u.length == 0 {
			err = io.EOF
		}
	}
	if err == io.EOF {
		maps.DeleteFunc(u.trailer, func(name string, _ []string) bool { _, ok := u.announced[name]; return !ok })
		u.end()
	}
	return n, err
}

func (u *requestBody) end() { u.once.Do(func() { close(u.done) }) }

// refuse answers instead of the host and records the refusal, without the query string,
// which may be confidential.
func (c *jailConn) refuse(w http.ResponseWriter, r *http.Request, no *refusal) {
	what, request := quote(r.Method)+" "+quote(r.URL.EscapedPath()), quote(r.Method)+" "+c.url(r)
	if no.why == policy.DeniedLeak { // the path may have it
		what = "a " + quote(r.Method) + " request"
		request = what + " to " + c.target.Name
	}
	if no.why != "" {
		c.deny(no.why, what+": "+no.text)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.ContentLength != 0 || no.why == policy.DeniedAmbiguous || no.why == policy.DeniedWrongName {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(no.status)
	fmt.Fprintf(w, "mcp-jail blocked %s: %s\n", request, no.text)
}

func (c *jailConn) url(r *http.Request) string {
	authority := c.target.Name
	if strings.Contains(authority, ":") {
		authority = "[" + authority + "]"
	}
	if c.target.TLS && c.target.Port != 443 || !c.target.TLS && c.target.Port != 80 {
		authority += ":" + strconv.Itoa(c.target.Port)
	}
	return c.scheme() + "://" + authority + quote(r.URL.EscapedPath())
}

func (i *Interceptor) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: i.rewrite,
		Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			return r.Context().Value(jailConnKey{}).(*jailConn).roundTrip(r)
		}),
		FlushInterval:  -1,
		BufferPool:     &bufferPool{},
		ModifyResponse: modify,
		ErrorHandler:   abort,
		ErrorLog:       log.New(io.Discard, "", 0),
	}
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (i *Interceptor) rewrite(p *httputil.ProxyRequest) {
	c := p.In.Context().Value(jailConnKey{}).(*jailConn)
	p.Out.URL.Scheme = c.scheme()
	p.Out.URL.Host = net.JoinHostPort(c.target.Name, strconv.Itoa(c.target.Port))
	p.Out.Host = p.In.Host
	// ReverseProxy removes these fields because servers trust proxies about them. To the
	// upstream, there is no proxy.
	p.Out.URL.RawQuery = p.In.URL.RawQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := p.In.Header[name]; ok {
			p.Out.Header[name] = slices.Clone(v)
		}
	}
	p.Out.Trailer = p.In.Trailer // net/http fills it in when the body was read
	passing := p.In.Context().Value(stateKey{}).(*requestState)
	i.secrets.replace(p.Out.Header, passing.secrets, p.Out.Trailer, passing.body.announced)
	if c.mask != nil {
		askReadable(p.Out.Header)
	}
	if p.Out.Body == nil {
		passing.body.end()
		return
	}
	if finder := i.leaks.finder; finder != nil {
		p.Out.Body = &leakReader{ReadCloser: p.Out.Body, conn: c, state: passing, stream: finder.Stream()}
	}
	passing.body.ReadCloser = p.Out.Body
	p.Out.Body = &passing.body
}

// modify closes the jail's connection if the upstream closes its own, and makes a response readable in
// which secrets are hidden.
func modify(r *http.Response) error {
	if r.Close && r.ProtoMajor == 1 {
		r.Header.Set("Connection", "close")
	}
	if r.Request.Context().Value(jailConnKey{}).(*jailConn).mask == nil {
		return nil
	}
	return makeReadable(r)
}

// abort ends a request after a failure of the upstream without a response, as the upstream
// did. It also ends an HTTP/1 connection, where the rest of the body would still arrive.
func abort(w http.ResponseWriter, r *http.Request, err error) {
	var refused unreadable
	if errors.As(err, &refused) {
		r.Context().Value(jailConnKey{}).(*jailConn).refuse(w, r, refused.refusal)
		return
	}
	if no := r.Context().Value(stateKey{}).(*requestState).leak.Load(); no != nil {
		r.Context().Value(jailConnKey{}).(*jailConn).refuse(w, r, no)
		return
	}
	if r.ProtoMajor == 1 {
		r.Context().Value(jailConnKey{}).(*jailConn).reset()
	}
	panic(http.ErrAbortHandler)
}

// responseWriter is the one way to the jail. It hides the secrets of the host in header fields, in the
// body, in trailer fields, in 1xx responses and after an upgrade. It adds no fields to the upstream's
// response. net/http would add a date and guess a content type.
type responseWriter struct {
	http.ResponseWriter
	major  int // major version of HTTP
	body   *requestBody
	mask   *leak.Mask       // nil: nothing is to be hidden
	stream *leak.MaskStream // of the body, once it has begun
	out    []byte
}

func (a *responseWriter) WriteHeader(status int) {
	h := a.Header()
	if status >= 200 {
		for _, name := range []string{"Date", "Content-Type"} {
			if _, ok := h[name]; !ok {
				h[name] = nil
			}
		}
		if a.cutShort() {
			h.Set("Connection", "close")
		}
	}
	hide(a.mask, h)
	a.ResponseWriter.WriteHeader(status)
}

// Write sends what of the body may be sent.
func (a *responseWriter) Write(p []byte) (n int, err error) {
	if a.mask == nil {
		return a.ResponseWriter.Write(p)
	}
	if a.stream == nil {
		a.stream = a.mask.Stream(isLive(a.Header()))
	}
	if a.out, err = a.stream.Next(a.out[:0], p); err == nil && len(a.out) > 0 {
		_, err = a.ResponseWriter.Write(a.out)
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (a *responseWriter) finish() {
	if a.stream != nil {
		a.ResponseWriter.Write(a.stream.Rest())
	}
	hide(a.mask, a.Header())
}

// Hijack takes over the connection after an upgrade.
func (a *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rest, err := http.NewResponseController(a.ResponseWriter).Hijack()
	if err == nil && a.mask != nil {
		conn, rest = newMaskedConn(conn, rest, a.mask)
	}
	return conn, rest, err
}

// cutShort reports whether the upstream responds without having read the body. The rest of
// the body cannot be skipped, so an HTTP/1 connection must end.
func (a *responseWriter) cutShort() bool {
	if a.major != 1 {
		return false
	}
	select {
	case <-a.body.done:
		return false
	case <-time.After(bodyTime):
		return true
	}
}

// Unwrap lets http.ResponseController flush.
func (a *responseWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// bufferPool reuses buffers for copying responses.
type bufferPool struct{ pool sync.Pool }

func (b *bufferPool) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 32<<10)
}

func (b *bufferPool) Put(p []byte) { b.pool.Put(&p) }

// leaks finds secrets that are not meant for the host of the request.
type leaks struct {
	egress.Leaks
	finder *leak.Searcher

	mu   sync.Mutex
	told map[egress.Leak]bool
}

// setLeaks sets the secrets to find in requests. It must be called before Serve.
func (i *Interceptor) setLeaks(l egress.Leaks) {
	i.leaks = leaks{Leaks: l, finder: leak.New(l.Secrets, l.Tokens), told: map[egress.Leak]bool{}}
}

func isCredential(name string) bool {
	return strings.EqualFold(name, "Cookie") || slices.ContainsFunc(policy.CredentialFields, func(f string) bool { return strings.EqualFold(f, name) })
}

func (c *jailConn) checkLeaks(r *http.Request) *refusal {
	l := &c.t.leaks
	if l.finder == nil {
		return nil
	}
	if no := c.judgeLeaks(l.finder.Find([]byte(r.Method+" "+r.RequestURI)), egress.PlaceURL, false); no != nil {
		return no
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		credential := isCredential(name)
		if no := c.judgeLeaks(l.finder.Find([]byte(name)), egress.PlaceHeader, false); no != nil {
			return no
		}
		for _, v := range r.Header[name] {
			if no := c.judgeLeaks(l.finder.Find([]byte(v)), egress.PlaceHeader, credential); no != nil {
				return no
			}
		}
	}
	return nil
}

// judgeLeaks tells of secrets in a part of a request, or returns a refusal. Secrets and tokens belong
// in a field for credentials.
func (c *jailConn) judgeLeaks(found []leak.Found, place egress.Place, credential bool) *refusal {
	l := &c.t.leaks
	if credential {
		return nil
	}
	for _, f := range found {
		if l.Block {
			what := "the value of " + f.Name + " (" + string(f.Form) + ")"
			if f.Form == leak.Token {
				what = "what looks like a token (" + f.Name + ")"
			}
			return forbidden(policy.DeniedLeak, `%s has %s, and leaks is "block"`, place, what)
		}
		l.tell(c, egress.Leak{Host: c.target.Name, Place: place, Found: f})
	}
	return nil
}

// maxTold bounds the leaks that are told in a session.
const maxTold = 1000

func (l *leaks) tell(c *jailConn, about egress.Leak) {
	l.mu.Lock()
	known := l.told[about] || len(l.told) >= maxTold
	if !known {
		l.told[about] = true
	}
	l.mu.Unlock()
	if !known && c.target.Tell != nil {
		c.target.Tell(about)
	}
}

var errLeak = errors.New("the body has a secret")

// leakReader looks at a body while it is sent.
type leakReader struct {
	io.ReadCloser
	conn   *jailConn
	state  *requestState
	stream *leak.Stream
}

// Read implements io.Reader. It does not return the bytes that complete a refused secret.
func (l *leakReader) Read(p []byte) (int, error) {
	if l.state.leak.Load() != nil {
		return 0, errLeak
	}
	n, err := l.ReadCloser.Read(p)
	if no := l.conn.judgeLeaks(l.stream.Find(p[:n]), egress.PlaceBody, false); no != nil {
		l.state.leak.Store(no)
		return 0, errLeak
	}
	return n, err
}
