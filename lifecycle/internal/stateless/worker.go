package stateless

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/answers"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// worker is one process of a stateless server, from its start to its end. It serves one call, or, under the
// policy of no tool, all other requests of an era.
type worker struct {
	client       *session.Client
	server       session.Server
	session      *statelessSession
	proc         session.Process
	conn         *mcpproxy.Conn
	info         *answers.ClientInfo // the client that its handshake is for; nil: no handshake
	tool         string              // "" for a discovery worker
	warm         bool                // it was started before there was a call for it
	openRequests int                 // its open requests to the client; under serverRequests.mu

	started  chan struct{}          // closed when its handshake is over; then the two below do not change
	greeting *mcpproxy.Frame        // its answer to the client's initialize; nil in the modern era
	failure  *diagnostics.Diagnosis // why it did not become ready

	// Under pool.mu:
	uses     int       // requests that have it or wait for it, and its start
	lastUsed time.Time // when it was last given back
	ready    bool      // it gets what the client sends to all
	logLevel []byte    // params of the logging/setLevel that it was told at its start

	mu       sync.Mutex
	requests map[string]*clientRequest // the client's, by id
	waiters  map[string]chan reply     // for answers to ours, by id
	active   bool                      // it has been sent a request of the client

	queue       sendQueue
	ended       chan struct{} // closed when the process is gone and all of its output was read
	exit        confine.Exit
	unreadInput int         // bytes of its stdin that it has not read
	unread      atomic.Bool // see onQueueFull
}

// start starts the process, and takes it through its handshake. The end of ctx ends the start, but no process
// that has started. d is why the worker has no policy, or nil.
func (w *worker) start(ctx context.Context, t Tool, d *diagnostics.Diagnosis) {
	defer close(w.started)
	if w.failure = d; d == nil {
		w.failure = w.launch(ctx, t)
	}
	if w.failure == nil {
		if w.greeting, w.failure = w.handshake(ctx); w.failure != nil {
			w.client.Tasks.Go(w.kill)
		}
	}
	if w.failure != nil && w.tool == "" && ctx.Err() == nil {
		// Before the failure is answered: a server that does not start offers nothing.
		w.session.discovery.cache.Forget(w.info)
	}
}

func (w *worker) isStarted() bool { return session.IsClosed(w.started) }

// isGone reports whether the worker can serve no request any more.
func (w *worker) isGone() bool {
	return w.isStarted() && (w.failure != nil || session.IsClosed(w.proc.Done()))
}

// launch starts the process.
func (w *worker) launch(ctx context.Context, t Tool) *diagnostics.Diagnosis {
	p := &w.session.pool
	if w.server.CertainReads {
		ctx = session.WithReads(ctx)
	}
	w.server.Init(w.client, t.Profile)
	w.server.Stateless, w.server.Unset = true, t.Unset
	w.server.Quiet.Store(w.warm)
	for _, line := range t.Warnings {
		w.client.Warn(line)
	}
	pipes, err := streams.NewPipes()
	if err == nil {
		w.server.Pipes = pipes
		w.proc, err = w.server.Launch(ctx)
		pipes.CloseServerEnds()
		if err != nil {
			pipes.CloseOwnEnds()
		}
	}
	switch {
	case ctx.Err() != nil: // the request was cancelled while the jail was built
		if err == nil {
			w.proc.Kill()
			w.proc.Wait()
			pipes.CloseOwnEnds()
		}
		return w.session.abandoned(w.tool)
	case err != nil:
		failed, status := w.server.StartFailure(err)
		p.mu.Lock()
		p.failureStatus = status
		p.mu.Unlock()
		return &failed
	}
	if w.session.signalsCaught != nil {
		w.session.signalsCaught()
	}
	w.server.Adopt(w.proc)
	written := &streams.CountingWriter{Dst: pipes.Stdin}
	w.conn = mcpproxy.NewConn(pipes.Stdout, written, session.MessageLimit(t.Profile))
	w.conn.Large = pipes.Stdout.Large
	w.queue.init(written)
	p.mu.Lock()
	p.workers[w] = true
	p.mu.Unlock()
	w.client.Tasks.Go(w.run)
	return nil
}

// abandoned is the failure of a start that no request waits for. No client gets it.
func (s *statelessSession) abandoned(tool string) *diagnostics.Diagnosis {
	return &diagnostics.Diagnosis{Code: diagnostics.CodeDied, Stage: diagnostics.StageExec, Server: s.serverName, Tool: tool, Explain: diagnostics.PageServerEnded, What: "no request waits for it any more"}
}

func (w *worker) run() {
	s := w.session
	var pumps sync.WaitGroup
	said := make(chan struct{})
	pumps.Go(func() {
		defer close(said)
		w.read()
	})
	pumps.Go(func() { w.server.PumpStderr(w.server.Pipes.Stderr, w.showsStderr) })
	pumps.Go(func() {
		w.queue.writeTo(w.conn)
		w.server.Pipes.Stdin.Close()
	})
	w.waitExit(said)
	exit, _ := w.proc.Wait()
	w.exit, w.unreadInput = exit, streams.UnreadBytes(w.server.Pipes.Stdin)
	// Senders no longer wait for a process that has ended.
	w.queue.close()
	w.server.Pipes.Stderr.StartDrain(s.client.Times.DrainIdle, s.client.Times.DrainTotal)
	w.server.Pipes.Stdout.StartDrain(s.client.Times.DrainIdle, s.client.Times.DrainTotal)
	pumps.Wait()
	w.server.Pipes.CloseOwnEnds()
	// After the pumps: its last output may hold requests to the client.
	s.serverRequests.endWorker(w)
	s.pool.removeWorker(w)
	close(w.ended)
}

// waitExit waits until the process has ended. It stops a process that has closed its stdout and
// runs on, since such a process can no longer answer.
func (w *worker) waitExit(said <-chan struct{}) {
	select {
	case <-w.proc.Done():
		return
	case <-said:
	}
	soon := time.NewTimer(w.client.Times.ExitGrace)
	defer soon.Stop()
	select {
	case <-w.proc.Done():
		return
	case <-soon.C:
	}
	if !w.queue.isClosed() { // else it is being stopped
		if !w.server.Quiet.Load() {
			w.client.Stderr.SayLine(fmt.Sprintf("server %q%s has closed its stdout and can no longer answer, so mcp-jail ended it", w.session.serverName, w.forTool()))
		}
		w.client.Tasks.Go(w.stop)
	}
	<-w.proc.Done()
}

// trySend sends the worker one of our messages, after what is queued. It does not wait,
// since the caller may hold locks that others need.
func (w *worker) trySend(f *mcpproxy.Frame) {
	if !w.queue.tryEnqueue(f) {
		w.onQueueFull()
	}
}

func (w *worker) onQueueFull() {
	w.session.client.SayOnce(fmt.Sprintf("a process of server %q%s does not read the answers to its requests; it was ended", w.session.serverName, w.forTool()))
	w.unread.Store(true)
	w.queue.close()
	w.proc.Kill()
}

func (w *worker) addExit(ev *diagnostics.Evidence) {
	ev.Exit, ev.Unread = (*diagnostics.Exit)(&w.exit), w.unread.Load()
}

func (w *worker) assign(ctx context.Context, rq *clientRequest) (at *delivery) {
	f, beside := w.session.dispatcher.table.entrust(rq, w)
	if f == nil {
		return nil
	}
	w.server.Quiet.Store(false)
	w.server.FirstCall.Set()
	w.server.Roots.Advertise(f, &f.Messages[0])
	if w.tool != "" {
		w.server.Processes.CallBegins(rq.tool, func() bool { return beside })
	}
	at = new(delivery)
	w.queue.enqueue(ctx, f, at)
	return at
}

func (w *worker) release(rq *clientRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.requests[rq.key()] == rq {
		delete(w.requests, rq.key())
	}
}

func (w *worker) waitForLateMessages() {
	// Some libraries notify concurrently with the answer, and drop what is left when their input ends.
	soon := time.NewTimer(w.client.Times.ExitGrace / 25)
	defer soon.Stop()
	select {
	case <-w.ended:
	case <-w.session.client.Shutdown.Done:
	case <-soon.C:
	}
}

// stop closes the worker's stdin, ends it by force if it does not end soon, and returns
// when it is gone.
func (w *worker) stop() {
	s := w.session
	if w.tool != "" {
		w.waitForLateMessages()
	}
	// This closes stdin after what is queued, and most servers end then.
	w.queue.close()
	soon := time.NewTimer(s.client.Times.ExitGrace)
	defer soon.Stop()
	select {
	case <-w.ended:
		return
	case <-s.client.Shutdown.Done:
	case <-soon.C:
	}
	w.proc.Signal(syscall.SIGTERM)
	soon.Reset(s.client.Times.Signal)
	select {
	case <-w.ended:
	case <-soon.C:
		w.kill()
	}
}

// kill ends the process at once, and returns when it is gone.
func (w *worker) kill() {
	w.queue.close() // so that waitExit does not report the end of stdout
	w.proc.Kill()
	<-w.ended
}

// notRead reports whether a worker that has ended has read nothing of a frame. If it has
// read one byte, it may have acted on it.
func (w *worker) notRead(at *delivery) bool {
	before, begun := at.offset()
	return !begun || w.queue.written.N.Load()-int64(w.unreadInput) <= before
}

// handshake sends the worker the client's initialize, and the log level. In the modern era there is no
// handshake; the answer of a warm worker to a server/discover shows that the program is loaded.
func (w *worker) handshake(ctx context.Context) (answer *mcpproxy.Frame, d *diagnostics.Diagnosis) {
	info := w.info
	legacy := info.Era() == mcpproxy.Legacy
	if info == nil || !legacy && !w.warm {
		w.session.pool.markReady(w)
		return nil, nil
	}
	f := info.Greeting()
	w.server.Roots.Advertise(f, &f.Messages[0])
	slow := time.AfterFunc(w.client.Times.SlowNote, func() {
		if w.server.Quiet.Load() {
			return
		}
		w.client.Stderr.SayLine(fmt.Sprintf("waiting for the first answer of server %q%s; %v so far", w.session.serverName, w.forTool(), w.client.Times.SlowNote))
	})
	defer slow.Stop()
	answer, err := w.request(ctx, f, w.server.Profile.Startup)
	if err != nil {
		return nil, w.startupFailure(ctx, err)
	}
	if e := &answer.Messages[0]; legacy && e.Error.Present() {
		ev := w.server.Evidence(diagnostics.StageStartup, &mcpproxy.Call{Method: []byte("initialize"), Tool: []byte(w.tool)}, time.Time{})
		ev.Text = session.FailureText(answer, e)
		failed := w.server.Diagnose(ev)
		return answer, &failed
	}
	if legacy {
		w.trySend(mcpproxy.Parse(mcpproxy.NewNotification("notifications/initialized", nil)))
	}
	w.session.pool.markReady(w)
	if legacy {
		w.tellLogLevel(ctx)
	}
	return answer, nil
}

func (w *worker) forTool() string {
	if w.tool == "" {
		return ""
	}
	return fmt.Sprintf(" for tool %q", w.tool)
}

// startupFailure returns the diagnosis for one of our requests to which the worker gave no answer,
// or one that cannot be used.
func (w *worker) startupFailure(ctx context.Context, err error) *diagnostics.Diagnosis {
	var answer reply
	if errors.As(err, &answer) {
		w.server.Announce(*answer.rejected)
		return answer.rejected
	}
	ev := w.server.Evidence(diagnostics.StageStartup, nil, time.Time{})
	ev.Tool = w.tool
	switch {
	case ctx.Err() != nil:
		d := diagnose.Failure(ev)
		return &d
	case err == errTimeout:
		ev.Timeout = w.server.Profile.Startup
	default:
		w.addExit(&ev)
	}
	d := w.server.Diagnose(ev)
	return &d
}
