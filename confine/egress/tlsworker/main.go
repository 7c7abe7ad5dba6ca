package tlsworker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/leak"
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

// Name is the file name of the program.
const Name = "mcp-jail-tls"

// Options configure a Worker.
type Options struct {
	Setup
	// Run starts the program in its jail, with these two files as its standard input and output.
	Run   func(ctx context.Context, in, out *os.File) (Process, error)
	Ended func(error) // is called when the process ends before Close. Optional
}

// Process is a running program.
type Process interface {
	Kill() error
	Wait() (how string) // returns when it has ended
}

// Setup is what the process gets to know.
type Setup struct {
	Rules   []policy.NetRule
	Secrets map[string]string // values by variable
	Leaks   egress.Leaks      // the secrets to find in requests
	Roots   []byte            // the authorities (PEM) that verify upstreams
}

// Handler is the work of the process.
type Handler interface {
	CA() []byte // the certificate of its authority, in PEM
	egress.Interceptor
	Close()
}

// ErrMissing means that the program is not installed.
var ErrMissing = errors.New("mcp-jail-tls is missing")

// writerFunc returns a policy that may write to a path, like policy.Profile.Writer.
type writerFunc func(path string, rights policy.Rights) (policy.Writer, bool)

// Find returns the path of the program. It looks beside self, the path of mcp-jail, and then in
// the directories of path, a value of PATH. The program runs outside the jail and holds secrets,
// so a file that a server could write or replace is an error.
func Find(self, path string, writer writerFunc) (string, error) {
	dirs := []string{}
	if self != "" {
		dirs = append(dirs, filepath.Dir(self))
	}
	for _, dir := range append(dirs, filepath.SplitList(path)...) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found, links, err := hostfs.ResolveLinks(filepath.Join(dir, Name))
		if err != nil {
			continue
		}
		info, err := os.Stat(found)
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		// Beside mcp-jail the program's name is protected like mcp-jail's own, so its
		// directories cannot be moved.
		protected := found == filepath.Join(filepath.Dir(self), Name)
		if why := writer.threat(found, links, protected); why != "" {
			return "", fmt.Errorf("%s cannot be used: %s, so it could choose a program that runs outside its jail; install mcp-jail-tls beside mcp-jail", found, why)
		}
		return found, nil
	}
	return "", fmt.Errorf("%w beside mcp-jail and in PATH; it ends TLS for rules with path_prefix, methods or secret. Install it with mcp-jail, from the same build", ErrMissing)
}

// threat describes how a server could put another file in place of found. It returns "" if
// none can. With fileOnly it looks at the file, and not at its directories, which the caller
// knows to be protected.
func (writer writerFunc) threat(found string, links []policy.Link, fileOnly bool) string {
	for _, l := range links {
		if w, ok := writer(filepath.Dir(l.Path), policy.Create|policy.Delete); ok {
			return fmt.Sprintf("%s may replace the symbolic link %s (%s)", w.Name, l.Path, w.Rule)
		}
	}
	for at := found; ; at = filepath.Dir(at) {
		if w, ok := writer(at, policy.Write); ok {
			return fmt.Sprintf("%s may write to %s (%s)", w.Name, at, w.Rule)
		}
		if fileOnly || at == filepath.Dir(at) {
			return ""
		}
	}
}

// CheckRoots returns an error if a server could write or replace a file of the host's authorities that a
// variable names. Such a server could choose the certificates that the process trusts.
func CheckRoots(writer writerFunc) error {
	for name, value := range map[string]string{"SSL_CERT_FILE": os.Getenv("SSL_CERT_FILE"), "SSL_CERT_DIR": os.Getenv("SSL_CERT_DIR")} {
		for _, file := range filepath.SplitList(value) {
			if file == "" {
				continue
			}
			at, err := filepath.Abs(file)
			if err != nil {
				return err
			}
			found, links, _ := hostfs.ResolveLinks(at)
			if why := writer.threat(found, links, false); why != "" {
				return fmt.Errorf("the variable %s names %s, and %s, so it could choose the trusted certificates: keep them where no server may write", name, file, why)
			}
		}
	}
	return nil
}

// version is the version of the protocol. Programs of different versions refuse to work together.
// It changes with the encoding of any message, which TestMessageEncoding compares.
const version = 12

// message is what the launcher and the process say to each other. Exactly one field is set.
type message struct {
	// From the launcher to mcp-jail-tls:
	Setup  *setupMessage  `json:"setup,omitempty"`
	Serve  *serveMessage  `json:"serve,omitempty"`
	Answer *answerMessage `json:"answer,omitempty"`

	// From mcp-jail-tls to the launcher:
	Hello     *helloMessage  `json:"hello,omitempty"`
	Failed    string         `json:"failed,omitempty"`
	Dial      *dialMessage   `json:"dial,omitempty"`
	Denied    *deniedMessage `json:"denied,omitempty"`
	Leak      *leakMessage   `json:"leak,omitempty"`
	Connected uint32         `json:"connected,omitempty"` // a connection to a proxy, whose TLS holds
}

// setupMessage is the first message of the launcher. Values need not be valid UTF-8.
type setupMessage struct {
	Version int               `json:"version"`
	Rules   []policy.NetRule  `json:"rules"`
	Secrets map[string][]byte `json:"secrets,omitempty"`
	Roots   []byte            `json:"roots"` // PEM, of the authorities that verify upstreams

	LeakNames  []string `json:"leak_names,omitempty"`
	LeakValues [][]byte `json:"leak_values,omitempty"`
	LeakTokens bool     `json:"leak_tokens,omitempty"`
	LeakBlock  bool     `json:"leak_block,omitempty"`
}

func newSetupMessage(s Setup) *setupMessage {
	m := &setupMessage{Version: version, Rules: s.Rules, Roots: s.Roots, Secrets: map[string][]byte{}, LeakTokens: s.Leaks.Tokens, LeakBlock: s.Leaks.Block}
	for name, value := range s.Secrets {
		m.Secrets[name] = []byte(value)
	}
	for _, s := range s.Leaks.Secrets {
		m.LeakNames, m.LeakValues = append(m.LeakNames, s.Name), append(m.LeakValues, []byte(s.Value))
	}
	return m
}

func (m *setupMessage) setup() Setup {
	s := Setup{Rules: m.Rules, Roots: m.Roots, Secrets: map[string]string{}, Leaks: egress.Leaks{Tokens: m.LeakTokens, Block: m.LeakBlock}}
	for name, value := range m.Secrets {
		s.Secrets[name] = string(value)
	}
	for i := range min(len(m.LeakNames), len(m.LeakValues)) {
		s.Leaks.Secrets = append(s.Leaks.Secrets, leak.Secret{Name: m.LeakNames[i], Value: string(m.LeakValues[i])})
	}
	return s
}

// helloMessage answers a setupMessage with the certificate of the authority, PEM. From then on the process serves.
type helloMessage struct {
	Version int    `json:"version"`
	CA      []byte `json:"ca"`
}

// serveMessage begins a connection of the jail.
type serveMessage struct {
	ID   uint32         `json:"id"`
	Head []byte         `json:"head"`
	Name string         `json:"name"`
	Port int            `json:"port"`
	TLS  bool           `json:"tls"`
	Addr netip.AddrPort `json:"addr"`
}

// dialMessage asks for an upstream connection, with the number ID, for a connection of the jail.
type dialMessage struct {
	ID  uint32 `json:"id"`
	For uint32 `json:"for"`
}

// deniedMessage records a refusal on a connection of the jail.
type deniedMessage struct {
	ID     uint32              `json:"id"`
	For    uint32              `json:"for"`
	Why    policy.DenialReason `json:"why"`
	Detail string              `json:"detail"`
}

// leakMessage tells of a secret in a request on a connection of the jail.
type leakMessage struct {
	ID    uint32       `json:"id"`
	For   uint32       `json:"for"`
	Place egress.Place `json:"place"`
	Name  string       `json:"name"`
	Form  leak.Form    `json:"form"`
}

// answerMessage answers the message with the same ID: it is connected or recorded, or Error tells why not.
type answerMessage struct {
	ID    uint32 `json:"id"`
	Error string `json:"error,omitempty"`
}

func clip(s string) string { return s[:min(len(s), 2000)] }
