// Package front is the side of a session's proxy that faces its clients: HTTP CONNECT, HTTP requests
// with a whole URL (RFC 9112), and SOCKS5 with a password (RFC 1928, RFC 1929). It knows no rules.
// Package egress decides about the hosts that clients ask for, and connects to them.
//
// The proxy listens on the host's loopback, where every user of the machine can connect. So a client
// needs the password of the session. What a client without it asks for is neither used nor on record:
// otherwise other users could choose what a diagnosis proposes to grant.
//
// It touches connections on loopback, and no file. Begin at [Front.Greet].
package front

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Limits for clients that have not given the password yet. They take no place among the connections of
// the session.
const (
	headTimeout = 30 * time.Second
	maxWaiting  = 128      // a further client ends the oldest one
	maxHead     = 30 << 10 // the Gateway accepts the head that Request.Head makes of it
	endTimeout  = time.Second
	endBytes    = 1 << 20
)

const user = "jail"

// Target is the target of denials of clients that do not give the password, or whose request names no
// host.
const Target = "(the session's proxy)"

var errNoPassword = errors.New("this proxy is for the programs of one session, which have its password in HTTPS_PROXY")

// NewPassword returns a password for one session: 128 random bits.
func NewPassword() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Front reads what clients ask for.
type Front struct {
	password []byte
	// deny records a refusal. host is "" if the client is not known to be one of the session, or if its
	// request names no host.
	deny func(host string, port int, why policy.DenialReason, detail string)

	mu      sync.Mutex
	waiting []*net.TCPConn // the oldest first
	unasked time.Time      // see Unasked
}

// New returns the Front of a session with a password. deny records a refusal; host is "" if no host is
// to be on record.
func New(password string, deny func(host string, port int, why policy.DenialReason, detail string)) *Front {
	return &Front{password: []byte(password), deny: deny}
}

// Client is a client that gave the password and asks for a host.
type Client struct {
	Conn    *net.TCPConn
	Host    string // as it is written
	Port    int
	Request *ProxyRequest // for one URL; nil if the client asks for a connection
	Rest    []byte        // of the connection, as far as it was read

	tell func(*Error)
	ctx  context.Context // see Greet
}

// Error is why a client gets no connection.
type Error struct {
	Kind Kind
	Text string // for the user of the program
}

// Kind tells the answers of a proxy apart.
type Kind int

// The kinds.
const (
	Refused     Kind = iota // by the policy
	Unreachable             // the host is granted
	TimedOut                // the same
)

func (e *Error) Error() string { return e.Text }

// Answer tells a client that its host is connected, or why not. With an error it ends the connection.
func (c *Client) Answer(err *Error) {
	c.tell(err)
	if err != nil {
		hangUp(c.ctx, c.Conn)
	}
}

// Greet reads what a client asks for. It answers a client that gets nothing, closes its connection, and
// returns nil. When ctx ends, it gives up, and so does an Answer with an error.
func (f *Front) Greet(ctx context.Context, conn *net.TCPConn) *Client {
	f.enter(conn)
	stop := context.AfterFunc(ctx, func() { reset(conn) })
	conn.SetDeadline(time.Now().Add(headTimeout))
	c := &Client{Conn: conn, ctx: ctx}
	b := bufio.NewReaderSize(conn, maxHead)
	ok := f.greet(b, c)
	f.leave(conn)
	switch {
	case !stop():
		return nil
	case !ok:
		hangUp(ctx, conn)
		return nil
	}
	c.Rest, _ = b.Peek(b.Buffered())
	conn.SetDeadline(time.Time{})
	return c
}

func (f *Front) greet(b *bufio.Reader, c *Client) bool {
	switch first, err := b.Peek(1); {
	case err != nil:
		return false
	case first[0] == socksVersion:
		return f.greetSOCKS(b, c)
	}
	return f.greetHTTP(b, c)
}

// enter adds a client that has not given the password. If there are too many, the oldest one goes,
// because the programs of the session give it at once.
func (f *Front) enter(c *net.TCPConn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = append(f.waiting, c)
	if len(f.waiting) > maxWaiting {
		reset(f.waiting[0])
		f.waiting = f.waiting[1:]
	}
}

func (f *Front) leave(c *net.TCPConn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = slices.DeleteFunc(f.waiting, func(o *net.TCPConn) bool { return o == c })
}

// admits reports whether a client gave the password. given is false if it gave none at all, as
// programs do that wait until the proxy asks.
func (f *Front) admits(name, password string, given bool) bool {
	ok := subtle.ConstantTimeCompare([]byte(name), []byte(user))&subtle.ConstantTimeCompare([]byte(password), f.password) == 1
	f.mu.Lock()
	switch {
	case ok:
		f.unasked = time.Time{}
	case !given && f.unasked.IsZero():
		f.unasked = time.Now()
	}
	f.mu.Unlock()
	if !ok && given {
		f.deny("", 0, policy.DeniedUnsupported, "a program gave a wrong password")
	}
	return ok
}

// Unasked returns the refusal of clients that give no password, if none has given it since. Some
// programs give it only after the proxy has asked, which is no refusal.
func (f *Front) Unasked() []policy.Denial {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unasked.IsZero() {
		return nil
	}
	return []policy.Denial{{
		Axis: policy.AxisNet, Operation: "connect", Target: Target, Reason: policy.DeniedUnsupported,
		Detail: "a program gave no password, though HTTPS_PROXY has one", Count: 1, Time: f.unasked, Last: f.unasked,
	}}
}

// hangUp ends a connection after an answer. If the client still sends and the kernel resets the
// connection therefore, the client can lose the answer.
func hangUp(ctx context.Context, c *net.TCPConn) {
	defer context.AfterFunc(ctx, func() { reset(c) })()
	c.CloseWrite()
	c.SetDeadline(time.Now().Add(endTimeout))
	io.CopyN(io.Discard, c, endBytes)
	c.Close()
}

func reset(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}

// maxListenAttempts bounds the search for a port that is free for both families.
const maxListenAttempts = 100

// Listen opens the listeners for the proxy: on 127.0.0.1 and ::1 with the same port, or
// on 127.0.0.1 alone if this machine has no IPv6.
func Listen() (listeners []*net.TCPListener, port int, err error) {
	for range maxListenAttempts {
		v4, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return nil, 0, fmt.Errorf("the session's proxy: %w", err)
		}
		port := v4.Addr().(*net.TCPAddr).Port
		v6, err := net.ListenTCP("tcp6", &net.TCPAddr{IP: net.IPv6loopback, Port: port})
		switch {
		case err == nil:
			return []*net.TCPListener{v4, v6}, port, nil
		case isWithoutIPv6(err):
			return []*net.TCPListener{v4}, port, nil
		}
		v4.Close()
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, 0, fmt.Errorf("the session's proxy: %w", err)
		}
	}
	return nil, 0, fmt.Errorf("the session's proxy: of %d ports none was free on both 127.0.0.1 and ::1", maxListenAttempts)
}

// isWithoutIPv6 reports whether an error means that no program of this machine can have ::1.
func isWithoutIPv6(err error) bool {
	return errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EPROTONOSUPPORT)
}

// Variables returns the variables that lead a program, and those that it starts, to the
// session's proxy. program is the path of the program.
//
// ALL_PROXY has no SOCKS URL, though other protocols could use one. Python's httpx reads all of these
// variables when it makes a client, and fails if one has a scheme for which it lacks a package. For
// connections that are not HTTP, programs also use CONNECT.
func Variables(port int, password, program string) []policy.Variable {
	const host = "127.0.0.1"
	proxy := "http://" + user + ":" + password + "@" + net.JoinHostPort(host, strconv.Itoa(port))
	var vars []policy.Variable
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "npm_config_proxy", "npm_config_https_proxy"} {
		vars = append(vars, policy.Variable{Name: name, Value: proxy, Secret: true})
	}
	// Nothing goes past the proxy: the jail lets nothing else through, not even to localhost.
	for _, name := range []string{"NO_PROXY", "no_proxy", "npm_config_noproxy"} {
		vars = append(vars, policy.Variable{Name: name})
	}
	vars = append(vars, policy.Variable{Name: "NODE_USE_ENV_PROXY", Value: "1"})
	// Java reads none of these, and takes the password of a proxy from no setting: a program must have an
	// Authenticator. Without one, it hears from the proxy what is missing. To Java, 127.0.0.1 on an IPv6
	// socket is ::ffff:127.0.0.1, which Seatbelt may not take for localhost (not yet run on a Mac).
	if name := path.Base(program); name == "java" || strings.HasPrefix(name, "java.") {
		vars = append(vars, policy.Variable{Name: "JAVA_TOOL_OPTIONS", Value: fmt.Sprintf(
			"-Djava.net.preferIPv4Stack=true -Dhttp.proxyHost=%[1]s -Dhttp.proxyPort=%[2]d -Dhttps.proxyHost=%[1]s -Dhttps.proxyPort=%[2]d -Dhttp.nonProxyHosts= -Djdk.http.auth.tunneling.disabledSchemes=",
			host, port)})
	}
	return vars
}

const maxText = 1 << 10 // of a refusal

// greetHTTP reads the head of a request to the proxy.
func (f *Front) greetHTTP(b *bufio.Reader, c *Client) bool {
	head, r, err := ReadHead(b, parseProxyHead)
	var unread *Ambiguous
	if err != nil && !errors.As(err, &unread) {
		return false // the client has gone, or is too slow
	}
	name, password, given := basicCredentials(r.Authorization)
	// What is no request to a proxy comes from a program that means another port, such as a browser.
	if err != nil && !given {
		c.writeHTTP("400 Bad Request", "", err)
		return false
	}
	if !f.admits(name, password, given) {
		c.writeHTTP("407 Proxy Authentication Required", "Proxy-Authenticate: Basic realm=\"mcp-jail\"\r\n", errNoPassword)
		return false
	}
	if err != nil {
		f.deny(r.Host, r.Port, policy.DeniedAmbiguous, err.Error())
		c.writeHTTP("400 Bad Request", "", err)
		return false
	}
	b.Discard(len(head))
	c.Host, c.Port = r.Host, r.Port
	if !r.Connect {
		c.Request = &r
	}
	c.tell = func(err *Error) {
		switch {
		case err != nil:
			c.writeHTTP([]string{Refused: "403", Unreachable: "502", TimedOut: "504"}[err.Kind], "", err)
		case r.Connect:
			c.Conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
		}
	}
	return true
}

// basicCredentials returns the credentials in the value of a field (RFC 7617).
func basicCredentials(value string) (name, password string, given bool) {
	scheme, encoded, _ := strings.Cut(value, " ")
	b, err := base64.StdEncoding.DecodeString(strings.Trim(encoded, " "))
	if !strings.EqualFold(scheme, "Basic") || err != nil {
		return "", "", value != ""
	}
	name, password, _ = strings.Cut(string(b), ":")
	return name, password, true
}

// writeHTTP writes a response that says why a client gets nothing. Some programs show the text of the
// status line alone, so a status without text gets the reason there too.
func (c *Client) writeHTTP(status, fields string, why error) {
	text := "mcp-jail: " + printable(why.Error())
	if len(status) == len("403") {
		status += " " + text
	}
	fmt.Fprintf(c.Conn, "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n%sConnection: close\r\nProxy-Connection: close\r\n\r\n%s\n",
		status, len(text)+1, fields, text)
}

// printable returns a text as one line of ASCII. Parts of it can come from a program.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, s[:min(len(s), maxText)])
}

// Ambiguous is the error of bytes that are no head, or that two readers could take for different ones.
type Ambiguous struct{ why string }

func (e *Ambiguous) Error() string { return e.why }

// ReadHead waits for a complete head that parse accepts, and leaves it in b. The error is an
// *Ambiguous, the error of the connection, or io.EOF if b has nothing more. With an *Ambiguous, r is
// what parse returned with it.
func ReadHead[R any](b *bufio.Reader, parse func([]byte) (R, int, error)) (head []byte, r R, err error) {
	for seen := 0; ; {
		head, _ = b.Peek(b.Buffered())
		for ; seen < len(head); seen++ {
			if head[seen] != '\n' {
				continue
			}
			// Some servers take a bare LF for the end of a line.
			if seen == 0 || head[seen-1] != '\r' {
				return nil, r, &Ambiguous{ErrNotStrict.Error()}
			}
			if seen >= 3 && head[seen-2] == '\n' {
				r, n, err := parse(head[:seen+1])
				if err != nil {
					return nil, r, &Ambiguous{err.Error()}
				}
				if n > 0 {
					return head[:n], r, nil
				}
			}
		}
		switch _, err = b.Peek(b.Buffered() + 1); {
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, r, &Ambiguous{"the head of a request is too long"}
		case err == io.EOF && len(head) > 0:
			return nil, r, &Ambiguous{"a request ends in the middle of its head"}
		case err != nil:
			return nil, r, err
		}
	}
}
