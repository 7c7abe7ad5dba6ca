package tlsworker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Run is the main function of the process. It receives what the handler needs to know, and has it serve
// connections until the launcher ends.
func Run(newHandler func(Setup) (Handler, error)) error {
	if err := restrictSelf(); err != nil {
		return err
	}
	s := &server{newHandler: newHandler, asked: map[uint32]chan error{}}
	s.mux = newMux(maxSetup, func(b []byte) error { _, err := os.Stdout.Write(b); return err })
	err := s.mux.receive(os.Stdin, s.handle)
	s.mux.end()
	if s.handler != nil {
		s.handler.Close()
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case s.handler == nil && !errors.Is(err, errSetup):
		return fmt.Errorf("mcp-jail starts mcp-jail-tls; it cannot be started by hand: %w", err)
	}
	return err
}

// errSetup is the error of a process that tells why it does not serve.
var errSetup = errors.New("it cannot serve")

type server struct {
	mux        *mux
	newHandler func(Setup) (Handler, error)
	handler    Handler // nil before the first message
	last       atomic.Uint32

	mu    sync.Mutex
	asked map[uint32]chan error // get the answers of the launcher, by number
}

// handle handles a message of the launcher.
func (s *server) handle(m message) error {
	switch {
	case m.Setup != nil && s.handler == nil:
		if err := s.setUp(m.Setup); err != nil {
			s.mux.sendMessage(message{Failed: err.Error()})
			return fmt.Errorf("%w: %w", errSetup, err)
		}
		return s.mux.sendMessage(message{Hello: &helloMessage{version, s.handler.CA()}})
	case m.Serve != nil && s.handler != nil:
		c, err := s.mux.open(m.Serve.ID)
		if err != nil {
			return err
		}
		go s.serve(*m.Serve, c)
	case m.Answer != nil:
		s.mu.Lock()
		answer := s.asked[m.Answer.ID]
		delete(s.asked, m.Answer.ID)
		s.mu.Unlock()
		if answer == nil {
			return errors.New("an answer that nobody asked for")
		}
		var err error
		if m.Answer.Error != "" {
			err = errors.New(m.Answer.Error)
		}
		answer <- err
	default:
		return errors.New("the launcher sent an unknown message")
	}
	return nil
}

func (s *server) setUp(m *setupMessage) error {
	if m.Version != version {
		return fmt.Errorf("mcp-jail-tls has version %d of the protocol and mcp-jail another: install both from one build", version)
	}
	h, err := s.newHandler(m.setup())
	if err == nil {
		s.handler = h
	}
	return err
}

func (s *server) serve(m serveMessage, c *conn) {
	defer c.Close()
	s.handler.Serve(c, m.Head, egress.Target{
		Name: m.Name, Port: m.Port, TLS: m.TLS, Addr: m.Addr, Done: c.done,
		Connected: func() { s.mux.sendMessage(message{Connected: m.ID}) },
		// Both return when the launcher has recorded it. The jail is answered afterwards.
		Deny: func(why policy.DenialReason, detail string) {
			n := s.number()
			<-s.ask(n, message{Denied: &deniedMessage{n, m.ID, why, clip(detail)}})
		},
		Tell: func(l egress.Leak) {
			n := s.number()
			<-s.ask(n, message{Leak: &leakMessage{n, m.ID, l.Place, l.Found.Name, l.Found.Form}})
		},
	}, func(ctx context.Context) (egress.Conn, error) { return s.dial(ctx, m.ID) })
}

// number returns a number that the launcher uses for no connection: those are odd.
func (s *server) number() uint32 { return s.last.Add(2) }

// ask sends a message that the launcher answers.
func (s *server) ask(number uint32, m message) <-chan error {
	answer := make(chan error, 1)
	s.mu.Lock()
	s.asked[number] = answer
	s.mu.Unlock()
	if err := s.mux.sendMessage(m); err != nil {
		answer <- err
	}
	return answer
}

func (s *server) dial(ctx context.Context, id uint32) (egress.Conn, error) {
	n := s.number()
	c, err := s.mux.open(n)
	if err != nil {
		return nil, err
	}
	answer := s.ask(n, message{Dial: &dialMessage{n, id}})
	select {
	case err := <-answer:
		if err != nil {
			c.Close()
			return nil, err
		}
		return c, nil
	case <-ctx.Done():
		go func() { // it may be connected all the same
			<-answer
			c.Close()
		}()
		return nil, ctx.Err()
	}
}
