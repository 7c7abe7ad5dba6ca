package intercept

import (
	"context"
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
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// In the context of a request there is its link, its wire in HTTP/1, and what is
// known of it once it may pass.
type (
	jailConnKey struct{}
	recorderKey struct{}
	stateKey    struct{}
)

// ServeHTTP serves one request of the jail.
func (t *Interceptor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l := r.Context().Value(jailConnKey{}).(*jailConn)
	rule, no := l.decide(r)
	if no == nil && l.untrusted != nil {
		no = &refusal{http.StatusBadGateway, 0, "the certificate of the host cannot be verified: " + l.untrusted.Error()}
	}
	p := &requestState{body: requestBody{length: r.ContentLength, done: make(chan struct{}), trailer: r.Trailer, announced: maps.Clone(r.Trailer)}}
	if l.target.TLS {
		p.secrets = rule.Secrets
	}
	if no == nil && len(p.secrets) > 0 {
		if no = t.secrets.misplaced(r.Header, p.secrets); no == nil {
			no = l.checkDestination(r)
		}
	}
	if no != nil {
		l.refuse(w, r, no)
		return
	}
	// An answer may come before the end of a body, and is not kept back until then.
	http.NewResponseController(w).EnableFullDuplex()
	t.proxy.ServeHTTP(&responseWriter{w, r.ProtoMajor, l.isLastRequest(r), &p.body}, r.WithContext(context.WithValue(r.Context(), stateKey{}, p)))
}

// requestState is what there is to know about a request on its way.
type requestState struct {
	secrets []policy.Secret // that the rule puts in
	body    requestBody
}

// requestBody is a body that ends with its last byte. A read for nothing but the end could
// come when the answer has passed and the body is closed: the connection would
// count as broken.
type requestBody struct {
	io.ReadCloser
	length int64         // left; -1 where it is not known
	done   chan struct{} // closed when it was read to the end
	once   sync.Once

	trailer   http.Header // net/http adds what stands behind the body
	announced http.Header // the names that the header had, which were looked at
}

func (u *requestBody) Read(p []byte) (int, error) {
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

// isLastRequest reports whether the connection can have no other request after this one: see
// wire.header.
func (l *jailConn) isLastRequest(r *http.Request) bool {
	return r.ProtoMajor == 1 && (r.ContentLength < 0 || r.Header.Get("Upgrade") != "" || r.Method == http.MethodConnect)
}

// refuse answers in the place of the host, and records it. What was in the query is
// nobody's business.
func (l *jailConn) refuse(w http.ResponseWriter, r *http.Request, no *refusal) {
	what := quote(r.Method) + " " + quote(r.URL.EscapedPath())
	if no.why != 0 {
		l.deny(egress.Denial{Why: no.why, Detail: what + ": " + no.text})
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if l.isLastRequest(r) || r.ContentLength != 0 || no.why == egress.ReasonAmbiguous || no.why == egress.ReasonWrongName {
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(no.status)
	fmt.Fprintf(w, "mcp-jail refused %s %s: %s\n", quote(r.Method), l.url(r), no.text)
}

func (l *jailConn) url(r *http.Request) string {
	authority := l.target.Name
	if strings.Contains(authority, ":") {
		authority = "[" + authority + "]"
	}
	if l.target.TLS && l.target.Port != 443 || !l.target.TLS && l.target.Port != 80 {
		authority += ":" + strconv.Itoa(l.target.Port)
	}
	return l.scheme() + "://" + authority + quote(r.URL.EscapedPath())
}

func (t *Interceptor) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: t.rewrite,
		Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			return r.Context().Value(jailConnKey{}).(*jailConn).roundTrip(r)
		}),
		FlushInterval:  -1,
		BufferPool:     &bufferPool{},
		ModifyResponse: keepClose,
		ErrorHandler:   abort,
		ErrorLog:       log.New(io.Discard, "", 0),
	}
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// rewrite makes the request for the upstream: the same, with the secrets.
func (t *Interceptor) rewrite(p *httputil.ProxyRequest) {
	l := p.In.Context().Value(jailConnKey{}).(*jailConn)
	p.Out.URL.Scheme = l.scheme()
	p.Out.URL.Host = net.JoinHostPort(l.target.Name, strconv.Itoa(l.target.Port))
	p.Out.Host = p.In.Host
	// What ReverseProxy takes out for servers that believe in it: this one is no proxy
	// that anybody would know of.
	p.Out.URL.RawQuery = p.In.URL.RawQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := p.In.Header[name]; ok {
			p.Out.Header[name] = slices.Clone(v)
		}
	}
	p.Out.Trailer = p.In.Trailer // it is filled in when the body has been read
	passing := p.In.Context().Value(stateKey{}).(*requestState)
	t.secrets.replace(p.Out.Header, passing.secrets, p.Out.Trailer, passing.body.announced)
	if p.Out.Body == nil {
		passing.body.end()
		return
	}
	passing.body.ReadCloser = p.Out.Body
	p.Out.Body = &passing.body
}

// keepClose lets the jail's connection end where the upstream's does.
func keepClose(r *http.Response) error {
	if r.Close && r.ProtoMajor == 1 {
		r.Header.Set("Connection", "close")
	}
	return nil
}

// abort ends a request that failed at the upstream, with no answer, as without us; and
// with it a connection of HTTP/1, whose body would be waited for.
func abort(w http.ResponseWriter, r *http.Request, err error) {
	if r.ProtoMajor == 1 {
		r.Context().Value(jailConnKey{}).(*jailConn).reset()
	}
	panic(http.ErrAbortHandler)
}

// responseWriter adds nothing to what the upstream sent: net/http would fill in a date and
// guess the kind of content.
type responseWriter struct {
	http.ResponseWriter
	major int // of the version of HTTP
	last  bool
	body  *requestBody
}

func (a *responseWriter) WriteHeader(status int) {
	h := a.Header()
	if status >= 200 {
		for _, name := range []string{"Date", "Content-Type"} {
			if _, ok := h[name]; !ok {
				h[name] = nil
			}
		}
		if a.last || a.cutShort() {
			h.Set("Connection", "close")
		}
	}
	a.ResponseWriter.WriteHeader(status)
}

// cutShort reports whether the upstream answers without having taken the body. What is
// left of it nobody wants, so in HTTP/1 there can be no other request behind it.
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

// Unwrap lets http.ResponseController flush and hijack.
func (a *responseWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// bufferPool are reused from one answer to the next.
type bufferPool struct{ pool sync.Pool }

func (b *bufferPool) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 32<<10)
}

func (b *bufferPool) Put(p []byte) { b.pool.Put(&p) }
