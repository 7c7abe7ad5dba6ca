//go:build linux || darwin

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
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/internal/environ"
	"github.com/mcp-jail/mcp-jail/policy"
)

// startTimeout bounds the start of the process. Normally it takes some milliseconds.
const startTimeout = 20 * time.Second

// Worker is a running mcp-jail-tls, as the launcher sees it. It implements egress.Interceptor.
type Worker struct {
	socket  *socket
	ca      []byte
	ready   chan struct{}   // closed when the process can serve connections
	ctx     context.Context // ends with the process
	cancel  context.CancelCauseFunc
	work    sync.WaitGroup
	process *os.Process
	exited  chan struct{}
	state   *os.ProcessState // set when it has exited

	// receiving is locked from the read of a message until that message is handled. No code that
	// runs under this lock waits for the process.
	receiving  sync.Mutex
	failure    error                  // the error that the process reported at its end
	replies    chan struct{}          // one element for each answer in progress
	killReason atomic.Pointer[string] // why the launcher killed the process

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
}

// Start starts the program and returns when it has created its authority. The process then
// becomes ready while the caller goes on: see Ready. If Start fails, no process is left.
func Start(o Options) (*Worker, error) {
	secrets := map[string][]byte{}
	for name, value := range o.Secrets {
		if err := policy.CheckSecretValue(name, value); err != nil {
			return nil, err
		}
		secrets[name] = []byte(value)
	}
	connections := cmp.Or(max(0, o.Connections), policy.MaxConnections)
	w := &Worker{
		ready: make(chan struct{}), exited: make(chan struct{}), conns: map[uint64]*workerConn{},
		replies: make(chan struct{}, repliesPerConn*connections+extraReplies),
	}
	w.ctx, w.cancel = context.WithCancelCause(context.Background())
	if err := w.spawn(o); err != nil {
		return nil, fmt.Errorf("starting %s: %w", o.Program, err)
	}
	if err := w.sendRules(o); err != nil {
		w.Close()
		return nil, fmt.Errorf("%s: %w", o.Program, err)
	}
	w.work.Go(func() { w.receiveLoop(message{Secrets: secrets, Leaks: newLeaksMessage(o.Leaks)}) })
	return w, nil
}

// spawn starts the process on a thread that lives as long as the process, because Linux
// kills the process when that thread ends (PR_SET_PDEATHSIG).
func (w *Worker) spawn(o Options) error {
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	if w.socket, err = newSocket(ours, maxMessage); err != nil {
		return err
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var err error
		w.process, err = w.startProcess(o.Program, theirs)
		started <- err
		if err != nil {
			return
		}
		w.state, _ = w.process.Wait()
		close(w.exited)
	}()
	if err := <-started; err != nil {
		w.socket.Close()
		return err
	}
	return nil
}

func (w *Worker) startProcess(program string, theirs *os.File) (*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	path, argv, err := command(program)
	if err != nil {
		return nil, err
	}
	// Its stderr is discarded, because a crash report could contain parts of a request.
	return os.StartProcess(path, argv, &os.ProcAttr{
		Dir: "/", Env: environment(), Files: []*os.File{null, null, null, theirs}, Sys: endsWithLauncher(),
	})
}

// environment returns the whole environment of the process. With GOMAXPROCS set, Go's runtime
// does not read the cgroup's limits, which the sandbox would forbid.
func environment() []string {
	return environ.Build(environ.TLS, os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", min(runtime.NumCPU(), 4)), "GOTRACEBACK=none")
}

func (w *Worker) sendRules(o Options) error {
	rules := &rulesMessage{Version: version, Rules: o.Rules, Roots: o.Roots, Connections: o.Connections}
	check, err := newCheck()
	if err != nil {
		return err
	}
	defer check.Close()
	if rules.Roots, err = hostRoots(o.Roots); err != nil {
		return err
	}
	rules.Check = check.message
	if err := w.send(message{Rules: rules}, check.theirs); err != nil {
		return w.startError(err)
	}
	w.socket.SetReadDeadline(time.Now().Add(startTimeout))
	m, err := w.receiveOne()
	switch {
	case err != nil:
		return w.startError(fmt.Errorf("it did not answer: %w", err))
	case m.Failed != "":
		return errors.New(m.Failed)
	case m.Hello == nil || m.Hello.Version != version:
		return errors.New("it has another version: install mcp-jail and mcp-jail-tls from one build")
	}
	w.ca = m.Hello.CA
	return nil
}

// receiveOne waits for a message other than that a connection was taken.
func (w *Worker) receiveOne() (message, error) {
	for {
		m, c, err := w.socket.receive()
		if c != nil {
			c.SetLinger(0)
			c.Close()
		}
		if err != nil || !m.Took {
			return m, err
		}
		w.socket.release()
	}
}

// CA returns the certificate, in PEM, of the authority that signs what the jail is shown.
func (w *Worker) CA() []byte { return w.ca }

// Pid returns the process's number.
func (w *Worker) Pid() int { return w.process.Pid }

// Ready waits until the process can serve connections. It returns an error if it never will.
func (w *Worker) Ready() error {
	select {
	case <-w.ready:
	case <-w.ctx.Done():
	}
	return context.Cause(w.ctx)
}

// sendTimeout bounds the time in which the process must read a message. Its socket has room
// for some hundred messages.
const sendTimeout = 10 * time.Second

// send sends a message. It kills a process that does not read, or does not take its connections.
func (w *Worker) send(m message, c *net.TCPConn) error {
	deaf := time.AfterFunc(sendTimeout, func() { w.killFor(fmt.Sprintf("it read nothing for %v", sendTimeout)) })
	defer deaf.Stop()
	err := w.socket.send(m, c)
	if errors.Is(err, errNotTaken) {
		w.killFor(err.Error())
	}
	return err
}

func (w *Worker) killFor(what string) {
	w.killReason.CompareAndSwap(nil, &what)
	w.Kill()
}

// Kill kills the process. Messages that it has sent are still received.
func (w *Worker) Kill() { w.process.Kill() }

// Serve passes a connection to the process. It implements egress.Interceptor.
func (w *Worker) Serve(conn *net.TCPConn, head []byte, t egress.Target, dial func(context.Context) (*net.TCPConn, error)) {
	defer conn.Close()
	if err := w.Ready(); err != nil {
		conn.SetLinger(0)
		if t.Deny != nil {
			t.Deny(policy.DeniedUnsupported, err.Error())
		}
		return
	}
	c := &workerConn{target: t, dial: dial}
	c.ctx, c.cancel = context.WithCancel(w.ctx)
	defer c.cancel()
	w.mu.Lock()
	w.last++
	id := w.last
	w.conns[id] = c
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.conns, id)
		w.mu.Unlock()
	}()
	if w.send(message{Serve: &serveMessage{id, head, t.Name, t.Port, t.TLS, t.Addr}}, conn) != nil {
		conn.SetLinger(0)
		return
	}
	conn.Close() // the process has its own descriptor
	select {
	case <-c.ctx.Done():
	case <-t.Done: // the Gateway does not wait
		w.send(message{End: id}, nil)
		w.FlushDenials() // while the connection of each refusal is known
	}
}

// Close ends the process and its connections, and waits for it.
func (w *Worker) Close() {
	w.receiving.Lock() // no work begins after this
	w.cancel(errors.New("the session is over"))
	w.receiving.Unlock()
	w.socket.Close()
	w.process.Kill()
	<-w.exited
	w.work.Wait()
}
