package front

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress/http1"
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
	Request *http1.ProxyRequest // for one URL; nil if the client asks for a connection
	Rest    []byte              // of the connection, as far as it was read

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
