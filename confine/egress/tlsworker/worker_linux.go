package tlsworker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// startTimeout bounds what the process may take to be ready. It takes some milliseconds.
const startTimeout = 20 * time.Second

// Worker is a running mcp-jail-tls, seen from the launcher.
type Worker struct {
	socket  *socket
	ca      []byte
	ready   chan struct{}   // closed when connections can be handed over
	ctx     context.Context // ends with the process
	cancel  context.CancelCauseFunc
	work    sync.WaitGroup
	process *os.Process
	exited  chan struct{}
	state   *os.ProcessState // once it has exited

	// hearing is held while a message leaves the socket and is taken: who holds it knows
	// that there is none in between. Nothing that is done meanwhile waits for the process.
	receiving  sync.Mutex
	failure    error                  // what the process said of its end
	replies    chan struct{}          // one for each that is underway
	killReason atomic.Pointer[string] // what it was ended for

	mu    sync.Mutex
	conns map[uint64]*workerConn
	last  uint64
}

var _ egress.Interceptor = (*Worker)(nil)

// workerConn is a connection that the process serves.
type workerConn struct {
	target egress.Target
	dial   func(context.Context) (*net.TCPConn, error)
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	spent  bool // the process was told to end it
}

// Start starts the program and returns when it has made its authority; what it does
// until it is ready goes on meanwhile: see Ready. Serve waits for it. Every error means
// that there is no process.
func Start(o Options) (*Worker, error) {
	secrets := map[string][]byte{}
	for name, value := range o.Secrets {
		if err := policy.CheckSecretValue(name, value); err != nil {
			return nil, err
		}
		secrets[name] = []byte(value)
	}
	connections := cmp.Or(max(0, o.Connections), policy.DefaultLimits.Connections)
	p := &Worker{
		ready: make(chan struct{}), exited: make(chan struct{}), conns: map[uint64]*workerConn{},
		replies: make(chan struct{}, repliesPerConn*connections+extraReplies),
	}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	if err := p.spawn(o); err != nil {
		return nil, fmt.Errorf("starting %s: %w", o.Program, err)
	}
	if err := p.sendRules(o); err != nil {
		p.Close()
		return nil, fmt.Errorf("%s: %w", o.Program, err)
	}
	p.work.Go(func() { p.receiveLoop(secrets) })
	return p, nil
}

// spawn starts the process on a thread that lives as long as it does: the kernel takes
// the end of that thread for ours (PR_SET_PDEATHSIG).
func (p *Worker) spawn(o Options) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	// It has no descriptors to give, and the kernel would close for us what we do not take.
	// Linux 6.16; before, those that are taken are closed at once, and that must do.
	unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_PASSRIGHTS, 0)
	ours, theirs := os.NewFile(uintptr(pair[0]), "mcp-jail-tls"), os.NewFile(uintptr(pair[1]), "launcher")
	defer theirs.Close()
	if p.socket, err = newSocket(ours); err != nil {
		return err
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var err error
		p.process, err = startProcess(o, theirs)
		started <- err
		if err != nil {
			return
		}
		p.state, _ = p.process.Wait()
		close(p.exited)
	}()
	if err := <-started; err != nil {
		p.socket.Close()
		return err
	}
	return nil
}

func startProcess(o Options, theirs *os.File) (*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	// What it would say when it dies could have a part of a request in it.
	return os.StartProcess(o.Program, []string{Name}, &os.ProcAttr{
		Dir: "/", Env: environment(), Files: []*os.File{null, null, null, theirs},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
}

// environment is all that the process gets. GOMAXPROCS is set so that the runtime
// does not look for changes of its cgroup, which it could not read later.
func environment() []string {
	env := []string{fmt.Sprintf("GOMAXPROCS=%d", min(runtime.NumCPU(), 4)), "GOTRACEBACK=none"}
	for _, name := range rootsVariables {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// sendRules says what is to be done, and hears of the authority.
func (p *Worker) sendRules(o Options) error {
	rules := &rulesMessage{Version: version, Rules: o.Rules, Roots: o.Roots, Connections: o.Connections}
	if err := p.send(message{Rules: rules}, nil); err != nil {
		return err
	}
	p.socket.SetReadDeadline(time.Now().Add(startTimeout))
	m, _, err := p.socket.receive()
	switch {
	case err != nil:
		return fmt.Errorf("it did not answer: %w", err)
	case m.Failed != "":
		return errors.New(m.Failed)
	case m.Hello == nil || m.Hello.Version != version:
		return errors.New("it speaks another version of the protocol: install mcp-jail and mcp-jail-tls from one build")
	}
	p.ca = m.Hello.CA
	return nil
}

// CA is the certificate of the authority whose certificates the jail will be shown,
// in PEM.
func (p *Worker) CA() []byte { return p.ca }

// Pid is the number of the process.
func (p *Worker) Pid() int { return p.process.Pid }

// Ready returns when connections can be handed over, or the reason why they never can.
func (p *Worker) Ready() error {
	select {
	case <-p.ready:
	case <-p.ctx.Done():
	}
	return context.Cause(p.ctx)
}

// sendTimeout is how long the process may leave in its socket what it is told. The socket
// has room for some hundred messages.
const sendTimeout = 10 * time.Second

// send sends a message, and ends a process that takes none.
func (p *Worker) send(m message, c *net.TCPConn) error {
	deaf := time.AfterFunc(sendTimeout, func() { p.killFor(fmt.Sprintf("it read nothing for %v", sendTimeout)) })
	defer deaf.Stop()
	return p.socket.send(m, c)
}

// killFor ends the process for what is wrong with it.
func (p *Worker) killFor(what string) {
	p.killReason.CompareAndSwap(nil, &what)
	p.Kill()
}

// Kill ends the process. What it has said is still heard.
func (p *Worker) Kill() { p.process.Kill() }

// Serve hands a connection over: see egress.Terminator.
func (p *Worker) Serve(c *net.TCPConn, head []byte, t egress.Target, dial func(context.Context) (*net.TCPConn, error)) {
	defer c.Close()
	if err := p.Ready(); err != nil {
		c.SetLinger(0)
		if t.Deny != nil {
			t.Deny(egress.Denial{Why: egress.ReasonUnsupported, Detail: err.Error()})
		}
		return
	}
	h := &workerConn{target: t, dial: dial}
	h.ctx, h.cancel = context.WithCancel(p.ctx)
	defer h.cancel()
	p.mu.Lock()
	p.last++
	id := p.last
	p.conns[id] = h
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.conns, id)
		p.mu.Unlock()
	}()
	if p.send(message{Serve: &serveMessage{id, head, t.Name, t.Port, t.TLS, t.Addr, t.ReportStep, t.MaxBytes}}, c) != nil {
		c.SetLinger(0)
		return
	}
	c.Close() // it is the process's now
	select {
	case <-h.ctx.Done():
	case <-t.Done: // the Gate waits for nobody
		p.send(message{End: id}, nil)
		p.FlushDenials() // while it is known whose refusals they are
	}
}

// Close ends the process and all that it serves, and waits for it.
func (p *Worker) Close() {
	p.receiving.Lock() // who hears begins no work after this
	p.cancel(errors.New("the session is over"))
	p.receiving.Unlock()
	p.socket.Close()
	p.process.Kill()
	<-p.exited
	p.work.Wait()
}
