//go:build linux || darwin

package tlsworker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// descriptor is the process's end of the socket pair.
const descriptor = 3

// Run is the main function of the process. It receives the rules and passes them to newHandler
// with additional roots (PEM). It enters the sandbox, receives the secrets and serves
// connections until the launcher closes the socket.
func Run(newHandler func(rules []policy.NetRule, roots []byte) (Handler, error)) error {
	if err := preventInspection(); err != nil {
		return err
	}
	socket, err := newSocket(os.NewFile(descriptor, "launcher"), maxRules)
	if err != nil {
		return fmt.Errorf("mcp-jail starts mcp-jail-tls; it cannot be started by hand: %w", err)
	}
	s := &server{socket: socket, conns: map[uint64]chan struct{}{}, dials: map[uint64]chan dialResult{}}
	err = s.run(newHandler)
	if err != nil && !errors.Is(err, io.EOF) {
		socket.send(message{Failed: err.Error()}, nil)
		return err
	}
	return nil
}

type server struct {
	socket  *socket
	handler Handler

	mu    sync.Mutex
	conns map[uint64]chan struct{}   // by ID; closed when the connection must end
	dials map[uint64]chan dialResult // by number; receive the results
	last  uint64                     // the last number of a dial or a count
}

type dialResult struct {
	conn *net.TCPConn
	err  error
}

func (s *server) run(newHandler func([]policy.NetRule, []byte) (Handler, error)) error {
	m, c, err := s.receive()
	if err != nil {
		return err
	}
	if m.Rules == nil || m.Rules.Version != version {
		return fmt.Errorf("mcp-jail-tls has version %d of the protocol and mcp-jail another: install both from one build", version)
	}
	if err := checkConfined(m.Rules.Check, c); err != nil {
		return err
	}
	if s.handler, err = newHandler(m.Rules.Rules, m.Rules.Roots); err != nil {
		return err
	}
	defer s.handler.Close()
	if err := s.socket.send(message{Hello: &helloMessage{version, s.handler.CA()}}, nil); err != nil {
		return err
	}
	if err := s.handler.Prepare(); err != nil { // meanwhile the launcher builds the jail
		return err
	}
	if err := enterSandbox(m.Rules.Connections); err != nil {
		return err
	}
	if err := s.socket.send(message{Ready: true}, nil); err != nil {
		return err
	}
	if m, _, err = s.receive(); err != nil {
		return err
	}
	secrets := make(map[string]string, len(m.Secrets))
	for name, value := range m.Secrets {
		secrets[name] = string(value)
	}
	if err := s.handler.SetSecrets(secrets); err != nil {
		return err
	}
	if m.Leaks != nil {
		s.handler.SetLeaks(m.Leaks.leaks())
	}
	return s.receiveLoop()
}

// receive receives a message, and tells the launcher that its connection has arrived.
func (s *server) receive() (message, *net.TCPConn, error) {
	m, c, err := s.socket.receive()
	if err == nil && c != nil {
		err = s.socket.took()
	}
	return m, c, err
}

func (s *server) receiveLoop() error {
	for {
		m, c, err := s.receive()
		if err != nil {
			return err
		}
		switch {
		case m.Serve != nil && c != nil:
			end := make(chan struct{})
			s.mu.Lock()
			s.conns[m.Serve.ID] = end
			s.mu.Unlock()
			go s.serve(*m.Serve, c, end)
		case m.Upstream != nil:
			d := dialResult{conn: c}
			if c == nil {
				d.err = errors.New(m.Upstream.Error)
			}
			s.completeDial(m.Upstream.Dial, d)
		case m.End != 0:
			s.mu.Lock()
			if end := s.conns[m.End]; end != nil {
				delete(s.conns, m.End)
				close(end)
			}
			s.mu.Unlock()
		default:
			return errors.New("the launcher sent an unknown message")
		}
	}
}

func (s *server) serve(m serveMessage, c *net.TCPConn, end <-chan struct{}) {
	s.handler.Serve(c, m.Head, egress.Target{
		Name: m.Name, Port: m.Port, TLS: m.TLS, Addr: m.Addr,
		Connected: func() { s.socket.send(message{Connected: m.ID}, nil) },
		Done:      end,
		// Deny returns when the message is in the launcher's queue; only then is the jail
		// answered. Deny may block, but the launcher always reads.
		Deny: func(why policy.DenialReason, detail string) {
			s.socket.send(message{Denied: &deniedMessage{m.ID, why, clip(detail)}}, nil)
		},
		Tell: func(l egress.Leak) {
			s.socket.send(message{Leak: &leakMessage{m.ID, l.Place, l.Found.Name, l.Found.Form}}, nil)
		},
	}, func(ctx context.Context) (*net.TCPConn, error) { return s.dial(ctx, m.ID) })
	s.mu.Lock()
	delete(s.conns, m.ID)
	s.mu.Unlock()
	s.socket.send(message{Done: m.ID}, nil)
}

func (s *server) dial(ctx context.Context, id uint64) (*net.TCPConn, error) {
	answer := make(chan dialResult, 1)
	s.mu.Lock()
	s.last++
	number := s.last
	s.dials[number] = answer
	s.mu.Unlock()
	if err := s.socket.send(message{Dial: &dialMessage{id, number}}, nil); err != nil {
		return nil, err
	}
	select {
	case d := <-answer:
		return d.conn, d.err
	case <-ctx.Done():
	}
	s.completeDial(number, dialResult{}) // a result from now on is closed
	if d := <-answer; d.conn != nil {
		d.conn.Close()
	}
	return nil, ctx.Err()
}

func (s *server) completeDial(number uint64, d dialResult) {
	s.mu.Lock()
	answer := s.dials[number]
	delete(s.dials, number)
	s.mu.Unlock()
	if answer != nil {
		answer <- d
	} else if d.conn != nil {
		d.conn.Close()
	}
}
