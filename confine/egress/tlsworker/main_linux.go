package tlsworker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// descriptor is where the process finds its end of the sockets.
const descriptor = 3

// Run is the life of the process: it takes the rules, has a Worker made for them,
// gives up all rights, takes the secrets and serves what is handed over until the
// launcher ends. roots are authorities (PEM) besides the host's.
func Run(newWorker func(rules []policy.NetRule, roots []byte) (Handler, error)) error {
	// First of all: nobody is to look into what comes now.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	s, err := newSocket(os.NewFile(descriptor, "launcher"))
	if err != nil {
		return fmt.Errorf("mcp-jail-tls is started by mcp-jail, not by hand: %w", err)
	}
	w := &server{socket: s, conns: map[uint64]chan struct{}{}, dials: map[uint64]chan dialResult{}}
	err = w.run(newWorker)
	if err != nil && !errors.Is(err, io.EOF) {
		s.send(message{Failed: err.Error()}, nil)
		return err
	}
	return nil
}

type server struct {
	socket  *socket
	handler Handler
	sent    atomic.Int64 // by all connections

	mu    sync.Mutex
	conns map[uint64]chan struct{}   // of what was handed over; closed when it has to end
	dials map[uint64]chan dialResult // that were asked for
	last  uint64                     // number of a dial
}

type dialResult struct {
	conn *net.TCPConn
	err  error
}

func (w *server) run(newWorker func([]policy.NetRule, []byte) (Handler, error)) error {
	m, _, err := w.socket.receive()
	if err != nil {
		return err
	}
	if m.Rules == nil || m.Rules.Version != version {
		return fmt.Errorf("mcp-jail-tls speaks version %d of the protocol, mcp-jail another one: install both from one build", version)
	}
	if w.handler, err = newWorker(m.Rules.Rules, m.Rules.Roots); err != nil {
		return err
	}
	defer w.handler.Close()
	if err := w.socket.send(message{Hello: &helloMessage{version, w.handler.CA()}}, nil); err != nil {
		return err
	}
	if err := w.handler.Prepare(); err != nil { // the jail is being built meanwhile
		return err
	}
	if err := enterSandbox(m.Rules.Connections); err != nil {
		return err
	}
	if err := w.socket.send(message{Ready: true}, nil); err != nil {
		return err
	}
	if m, _, err = w.socket.receive(); err != nil {
		return err
	}
	secrets := make(map[string]string, len(m.Secrets))
	for name, value := range m.Secrets {
		secrets[name] = string(value)
	}
	if err := w.handler.SetSecrets(secrets); err != nil {
		return err
	}
	return w.receiveLoop()
}

// receiveLoop takes what the launcher hands over, until it ends.
func (w *server) receiveLoop() error {
	for {
		m, c, err := w.socket.receive()
		if err != nil {
			return err
		}
		switch {
		case m.Serve != nil && c != nil:
			end := make(chan struct{})
			w.mu.Lock()
			w.conns[m.Serve.ID] = end
			w.mu.Unlock()
			go w.serve(*m.Serve, c, end)
		case m.Upstream != nil:
			d := dialResult{conn: c}
			if c == nil {
				d.err = errors.New(m.Upstream.Error)
			}
			w.completeDial(m.Upstream.Dial, d)
		case m.End != 0:
			w.mu.Lock()
			if end := w.conns[m.End]; end != nil {
				delete(w.conns, m.End)
				close(end)
			}
			w.mu.Unlock()
		default:
			return errors.New("the launcher sent a message that is not known")
		}
	}
}

func (w *server) serve(m serveMessage, c *net.TCPConn, end <-chan struct{}) {
	w.handler.Serve(c, m.Head, egress.Target{
		Name: m.Name, Port: m.Port, TLS: m.TLS, Addr: m.Addr, ReportStep: m.ReportStep,
		// The answer, if there is one, is an end, and other connections may have sent a lot
		// until it comes. What can be said without the launcher is said at once.
		ReportSent: func(n int64) bool {
			w.socket.send(message{Sent: &sentMessage{m.ID, n}}, nil)
			return w.sent.Add(n) <= m.MaxBytes || m.MaxBytes == 0
		},
		Done: end,
		// It returns when the launcher is going to hear of it, and only then there is an
		// answer. That may take as long as the launcher does, which never waits for us.
		Deny: func(d egress.Denial) {
			w.socket.send(message{Denied: &deniedMessage{m.ID, d.Why, clip(d.Detail)}}, nil)
		},
	}, func(ctx context.Context) (*net.TCPConn, error) { return w.dial(ctx, m.ID) })
	w.mu.Lock()
	delete(w.conns, m.ID)
	w.mu.Unlock()
	w.socket.send(message{Done: m.ID}, nil)
}

// dial has the launcher dial for a connection.
func (w *server) dial(ctx context.Context, id uint64) (*net.TCPConn, error) {
	answer := make(chan dialResult, 1)
	w.mu.Lock()
	w.last++
	number := w.last
	w.dials[number] = answer
	w.mu.Unlock()
	if err := w.socket.send(message{Dial: &dialMessage{id, number}}, nil); err != nil {
		return nil, err
	}
	select {
	case d := <-answer:
		return d.conn, d.err
	case <-ctx.Done():
	}
	w.completeDial(number, dialResult{}) // what comes now is closed
	if d := <-answer; d.conn != nil {
		d.conn.Close()
	}
	return nil, ctx.Err()
}

// completeDial gives what was dialled to who asked for it, once.
func (w *server) completeDial(number uint64, d dialResult) {
	w.mu.Lock()
	answer := w.dials[number]
	delete(w.dials, number)
	w.mu.Unlock()
	if answer != nil {
		answer <- d
	} else if d.conn != nil {
		d.conn.Close()
	}
}
