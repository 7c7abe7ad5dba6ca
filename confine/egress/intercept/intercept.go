// Package intercept decides about the single requests of a jail's connections. It serves the
// connections to hosts whose rules have a path_prefix, methods or a secret. [Interceptor]
// implements egress.Interceptor.
//
// Each connection of the jail has upstream connections of its own, which no other connection
// uses. So an upstream that mixes up requests mixes up only those of one connection.
//
// For TLS, the jail is shown a certificate of an authority that was made for this session.
// The authority's key never leaves the process. Its certificate is limited to the hosts in
// question by critical name constraints. The certificate of the upstream is verified with the
// authorities of [Options]. Both sides speak the protocol that the upstream chose from the client's
// offer: HTTP/1.1 or HTTP/2.
//
// # Refused
//
// A request that the rules do not allow gets status 403 and a text that names the rule. A
// request that names another host gets 421. A TRACE request gets 403, because its response would
// contain the secrets. So does a request with a leaked secret, if [egress.Leaks] has Block. A
// request that two servers could read in two ways also gets 403:
//
//   - an absolute URI as target, CONNECT, or an upgrade to anything but WebSocket
//   - a field that some servers read as Transfer-Encoding or Content-Length (see
//     [egress.CheckField]), in the trailers too
//
// net/http reads the requests of HTTP/1 and refuses what it cannot read. What it reads is written anew, so what the
// host gets has one meaning.
//
// If the rules for the host mention paths or methods, these get 403 as well:
//
//   - a path that is not canonical: dot segments and similar ones, empty segments, escaped
//     separators, control characters, broken UTF-8
//   - a method that is not in capitals
//   - a header field that some servers take for another path or method, in any spelling, and the
//     parameter _method in the query of a POST
//
// A Destination field (WebDAV) is decided like the path.
//
// A TLS handshake that names another host or none fails. An upstream whose certificate cannot
// be verified results in status 502 with the reason. If an upstream cannot be reached or ends
// early, the Interceptor makes up no response. It ends the jail's connection, or in HTTP/2 the
// stream.
//
// # Forwarded
//
// Everything else is forwarded unchanged, but for secrets: header fields (and their absence), valid paths and
// queries byte for byte, announced trailer fields, 1xx responses, streams, uploads of any
// size, WebSocket. Redirects are forwarded and not followed. Fields about one connection
// (Connection, Keep-Alive, Proxy-*) are not forwarded. Chunked bodies are chunked anew.
//
// # Secrets
//
// In a request over TLS that a rule with a secret allows, the secret's placeholder is replaced by
// the secret's value. That happens in the header fields for credentials or, if the rule names
// fields, in those; also inside Basic credentials. It does not happen in paths, queries and
// bodies. A request with the placeholder in another field is refused. A request with a value loses
// the fields that name another host to some servers (X-Forwarded-Host and the like), and its
// Destination must be allowed.
//
// A host may send a value back. So each byte of a value becomes a "*" in all responses of the hosts
// whose rules have the secret: in header fields, bodies, trailer fields, 1xx responses and WebSockets,
// in the forms of [leak.Mask]. A value that can be guessed is not replaced, because the jail could try
// which text becomes stars. The proxy must be able to read the response:
//
//   - A request loses Range and fields like it, Sec-WebSocket-Extensions and what offers compression,
//     but for gzip. A response in gzip is decompressed. One with another encoding, or in a charset
//     that does not extend ASCII, is refused with status 502.
//   - The end of a body is kept back until more comes, as many bytes as the longest form has, unless
//     it is a line end. How much does not depend on the text: otherwise the jail could learn of parts.
//   - The messages of gRPC and WebSockets are passed on at once. A value in several pieces, of which
//     some were passed on, ends the stream.
package intercept

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Limits for peers. Streams and uploads have no time limit, because programs may wait for
// responses as long as they like.
const (
	helloTime      = 30 * time.Second      // for the handshakes on both sides
	headerTime     = time.Minute           // for the header of a request
	idleTime       = 15 * time.Minute      // between two requests, unless the upstream closes earlier
	maxHeader      = 64 << 10              // bytes in the header of a request
	maxAnswer      = 1 << 20               // bytes in the header of a response
	maxStreams     = 100                   // at once in an HTTP/2 connection
	maxUnread      = 1 << 20               // bytes of HTTP/2 that a connection or stream takes before they are read
	bodyTime       = 50 * time.Millisecond // for the rest of a body after its response
	continueTime   = time.Second           // before a body is sent without 100 Continue
	leafLife       = 30 * 24 * time.Hour
	authorityLife  = 2 * 365 * 24 * time.Hour
	clockTolerance = 24 * time.Hour
)

// Options configure an [Interceptor].
type Options struct {
	Rules []policy.NetRule // the profile's rules, normalised
	// Secrets are values by the variable that holds their placeholder. The placeholder of a
	// secret without a value is not replaced.
	Secrets map[string]string
	Leaks   egress.Leaks // the secrets to find in requests
	Roots   []byte       // the authorities (PEM) that verify the certificates of upstreams
}

// Interceptor serves the connections of one jail.
type Interceptor struct {
	rules   []policy.NetRule
	secrets secrets
	leaks   leaks
	roots   func() *x509.CertPool
	ca      *authority
	// sessions holds TLS sessions with upstreams, for resumption.
	sessions tls.ClientSessionCache

	proxy     *httputil.ReverseProxy
	transport *http.Transport
	accepted  connListener

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	mu     sync.Mutex
	conns  map[*jailConn]struct{}
}

// New creates the session's authority and starts serving. If a secret cannot be part of a
// header field, the error names its variable.
func New(o Options) (*Interceptor, error) {
	ca, err := newAuthority(o.Rules)
	if err != nil {
		return nil, err
	}
	i := &Interceptor{rules: o.Rules, ca: ca, sessions: tls.NewLRUClientSessionCache(64), conns: map[*jailConn]struct{}{}}
	if i.secrets, err = checkSecrets(o.Secrets); err != nil {
		return nil, err
	}
	if !o.Leaks.IsZero() {
		i.setLeaks(o.Leaks)
	}
	i.roots = sync.OnceValue(func() *x509.CertPool {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(o.Roots)
		return pool
	})
	i.work.Go(func() { i.roots() }) // they take longer than all else, and the first connection needs them
	i.ctx, i.cancel = context.WithCancel(context.Background())
	i.proxy, i.transport = i.newProxy(), newTransport()
	i.accepted = connListener{make(chan net.Conn), i.ctx.Done()}
	i.work.Go(func() { i.server().Serve(i.accepted) })
	return i, nil
}

func (i *Interceptor) server() *http.Server {
	return &http.Server{
		Handler:           i,
		Protocols:         bothProtocols(),
		BaseContext:       func(net.Listener) context.Context { return i.ctx },
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // it would contain what peers sent
		HTTP2:             http2Config(),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, jailConnKey{}, jailConnOf(c))
		},
		// OPTIONS * goes to the upstream like any other request.
		DisableGeneralOptionsHandler: true,
	}
}

func bothProtocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	return p
}

func http2Config() *http.HTTP2Config {
	return &http.HTTP2Config{MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnread}
}

// CA returns the certificate of the session's authority in PEM.
func (i *Interceptor) CA() []byte { return i.ca.pem }

// Serve takes over a connection of the jail, as egress.Interceptor does.
func (i *Interceptor) Serve(conn egress.Conn, head []byte, target egress.Target, dial func(context.Context) (egress.Conn, error)) {
	if len(i.rules) == 0 {
		i.carry(conn, target, dial)
		return
	}
	c := &jailConn{Conn: conn, t: i, head: head, target: target, dial: dial, closed: make(chan struct{}), upstreams: map[*upstream]struct{}{}}
	c.conditional = hasConditions(i.rules, c.scheme(), target)
	c.mask = i.maskOf(c)
	if !i.add(c) {
		c.Close()
		return
	}
	defer i.remove(c)
	stop := make(chan struct{})
	defer close(stop)
	i.work.Go(func() {
		select {
		case <-target.Done:
			c.Close()
		case <-stop:
		}
	})
	if err := c.handshake(); err != nil {
		c.Close()
	}
	<-c.closed
}

func (i *Interceptor) add(c *jailConn) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.conns == nil {
		return false
	}
	i.conns[c] = struct{}{}
	i.work.Add(1)
	return true
}

func (i *Interceptor) remove(c *jailConn) {
	i.mu.Lock()
	delete(i.conns, c)
	i.mu.Unlock()
	i.work.Done()
}

// Close ends all connections and waits for them.
func (i *Interceptor) Close() {
	i.cancel()
	i.mu.Lock()
	links := i.conns
	i.conns = nil
	i.mu.Unlock()
	for c := range links {
		c.Close()
	}
	i.work.Wait()
}

// connListener is a net.Listener whose connections come from deliver.
type connListener struct {
	conns chan net.Conn
	done  <-chan struct{}
}

func (q connListener) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.done:
		return nil, net.ErrClosed
	}
}

func (q connListener) deliver(c net.Conn) error {
	select {
	case q.conns <- c:
		return nil
	case <-q.done:
		return net.ErrClosed
	}
}

func (q connListener) Close() error   { return nil }
func (q connListener) Addr() net.Addr { return &net.TCPAddr{} }

// errRefused ends a handshake whose refusal is already recorded.
var errRefused = errors.New("refused")

// carry connects what is in conn with a proxy, which is reached by TLS. It observes one request when the handshake
// is done. An Interceptor without rules does this with every connection.
func (i *Interceptor) carry(conn egress.Conn, proxy egress.Target, dial func(context.Context) (egress.Conn, error)) {
	defer conn.Close()
	ctx, cancel := context.WithTimeout(i.ctx, helloTime)
	defer cancel()
	go func() {
		select {
		case <-proxy.Done:
			cancel()
		case <-ctx.Done():
		}
	}()
	raw, err := dial(ctx)
	var c *tls.Conn
	if err == nil {
		defer raw.Close()
		c = tls.Client(raw, &tls.Config{ServerName: proxy.Name, RootCAs: i.roots(), NextProtos: []string{"http/1.1"}})
		err = c.HandshakeContext(ctx)
	}
	if err != nil {
		proxy.Deny(policy.DeniedUnsupported, err.Error())
		return
	}
	proxy.Connected()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(c, conn)
		raw.SetReadDeadline(time.Now().Add(idleTime)) // one that does not end with the other must not stay for good
		c.CloseWrite()
	}()
	if _, err = io.Copy(conn, c); err != nil {
		conn.SetLinger(0) // the proxy did not end the connection in order
		return
	}
	conn.CloseWrite()
	<-ended
}

// secrets are values by the variable that holds their placeholder.
type secrets map[string]string

func checkSecrets(values map[string]string) (secrets, error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := policy.CheckSecretValue(name, values[name]); err != nil {
			return nil, err
		}
	}
	return maps.Clone(values), nil
}

// replace replaces the placeholders of the named secrets in the fields where they may occur. If
// it replaced one, it removes the fields that could make a host forward the value to another
// host, from the trailers as well.
func (s secrets) replace(header http.Header, named []policy.Secret, behind ...http.Header) {
	sent := false
	for name, values := range header {
		replacer := s.replacer(named, func(n policy.Secret) bool { return isReplacedIn(n, name) })
		for i, v := range values {
			values[i] = replaceInBasic(replacer.Replace(v), replacer)
			sent = sent || values[i] != v
		}
	}
	for _, fields := range append(behind, header) {
		maps.DeleteFunc(fields, func(name string, _ []string) bool { return sent && policy.IsHostHeader(egress.CanonicalField(name)) })
	}
}

func (s secrets) replacer(named []policy.Secret, pass func(policy.Secret) bool) *strings.Replacer {
	var pairs []string
	for _, n := range named {
		if v, ok := s[n.Env]; ok && pass(n) {
			pairs = append(pairs, policy.Placeholder(n.Env), v)
		}
	}
	return strings.NewReplacer(pairs...)
}

func isReplacedIn(n policy.Secret, field string) bool {
	return slices.ContainsFunc(n.HeaderFields(), func(f string) bool { return strings.EqualFold(f, field) })
}

// misplaced refuses a request with a placeholder in a field where it is not replaced. Otherwise
// the host would receive the placeholder, and its error would not show the reason.
func (s secrets) misplaced(header http.Header, named []policy.Secret) *refusal {
	for _, n := range named {
		all := s.replacer([]policy.Secret{n}, func(policy.Secret) bool { return true })
		for _, field := range slices.Sorted(maps.Keys(header)) {
			if isReplacedIn(n, field) {
				continue
			}
			for _, v := range header[field] {
				if replaceInBasic(all.Replace(v), all) != v {
					return forbidden(policy.DeniedSecret, "its header field %s has the placeholder of the secret %s, which is put in %s only: if the value belongs there, write header = %q beside env (%s)", quote(field), n.Env, fieldsText(n), quote(field), n.Where)
				}
			}
		}
	}
	return nil
}

func fieldsText(n policy.Secret) string {
	if n.Header == nil {
		return "the fields for credentials (Authorization, X-Api-Key and the like)"
	}
	return strings.Join(n.Header, ", ")
}

func replaceInBasic(value string, replacer *strings.Replacer) string {
	const scheme = "basic "
	if len(value) < len(scheme) || !strings.EqualFold(value[:len(scheme)], scheme) {
		return value
	}
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value[len(scheme):]))
	if err != nil {
		return value
	}
	real := replacer.Replace(string(plain))
	if real == string(plain) {
		return value
	}
	return value[:len(scheme)] + base64.StdEncoding.EncodeToString([]byte(real))
}
