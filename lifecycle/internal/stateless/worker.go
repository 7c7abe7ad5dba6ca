package stateless

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/clientinfo"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sendqueue"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// worker is one process of a stateless server, from its start to its end.
type worker struct {
	client       *session.Client
	server       session.Server
	session      *statelessSession
	proc         session.Process
	conn         *mcpproxy.Conn
	startedAt    time.Time
	info         *clientinfo.Info // the client that its handshake is for; nil: no handshake
	tool         string           // "" for a discovery worker
	warm         bool             // it was started before there was a call for it
	mounts       []byte           // of a warm worker: session.Process.Mounts at its start
	ready        bool             // past its handshake; under pool.mu
	openRequests int              // its open requests to the client; under serverRequests.mu

	mu       sync.Mutex
	requests map[string]*clientRequest // the client's, by id
	waiters  map[string]chan reply     // for answers to ours, by id
	active   bool                      // it has been sent a request of the client
	logLevel logLevelUpdate            // the last logging/setLevel that it was sent
	lastUsed time.Time                 // the last request or answer
	freed    sync.Cond                 // requests or waiters has lost one, or removed is set
	removed  bool                      // the process is gone

	queue       sendqueue.Queue
	ended       chan struct{} // closed when the process is gone and all of its output was read
	exit        confine.Exit
	unreadInput int         // bytes of its stdin that it has not read
	unread      atomic.Bool // see onQueueFull
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
		w.queue.WriteTo(w.conn)
		w.server.Pipes.Stdin.Close()
	})
	w.waitExit(said)
	exit, err := w.proc.Wait()
	w.client.Log.Debug().Str("tool", w.tool).Int("code", exit.Code).Str("why", exit.Why).Err(err).Msg("a process has ended")
	w.exit, w.unreadInput = exit, streams.UnreadBytes(w.server.Pipes.Stdin)
	// Senders no longer wait for a process that has ended.
	w.queue.Close()
	w.server.Pipes.Stderr.StartDrain(s.client.Times.DrainIdle, s.client.Times.DrainTotal)
	w.server.Pipes.Stdout.StartDrain(s.client.Times.DrainIdle, s.client.Times.DrainTotal)
	pumps.Wait()
	w.server.Pipes.CloseOwnEnds()
	// After the pumps: its last output may hold requests to the client.
	s.serverRequests.endWorker(w)
	s.pool.removeWorker(w)
	w.mu.Lock()
	w.removed = true
	w.freed.Broadcast()
	w.mu.Unlock()
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
	if !w.queue.IsClosed() { // else it is being stopped
		if !w.server.Quiet.Load() {
			w.client.Stderr.SayLine(fmt.Sprintf("server %q%s has closed its stdout and can no longer answer, so it was ended", w.session.serverName, w.forTool()))
		}
		w.client.Tasks.Go(w.stop)
	}
	<-w.proc.Done()
}

// trySend sends the worker one of our messages, after what is queued. It does not wait,
// since the caller may hold locks that others need.
func (w *worker) trySend(f *mcpproxy.Frame) {
	if !w.queue.TryEnqueue(f) {
		w.onQueueFull()
	}
}

func (w *worker) onQueueFull() {
	w.session.client.SayOnce(fmt.Sprintf("a process of server %q%s does not read the answers to its requests; it was ended", w.session.serverName, w.forTool()))
	w.unread.Store(true)
	w.queue.Close()
	w.proc.Kill()
}

func (w *worker) addExit(ev *diagnostics.Evidence) {
	ev.Exit, ev.Unread = (*diagnostics.Exit)(&w.exit), w.unread.Load()
}

// hasItsMounts reports whether in the jail of a warm worker is mounted what was mounted at its start. A mask goes
// when its name is removed outside, and moves with a rename.
func (w *worker) hasItsMounts() bool {
	now, whole := w.proc.Mounts()
	return whole && bytes.Equal(now, w.mounts)
}

func (w *worker) assign(ctx context.Context, rq *clientRequest) (at *sendqueue.Delivery) {
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
	at = new(sendqueue.Delivery)
	w.queue.Enqueue(ctx, f, at)
	return at
}

func (w *worker) release(rq *clientRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.requests[rq.key()] == rq {
		delete(w.requests, rq.key())
		w.freed.Broadcast()
	}
	w.lastUsed = time.Now()
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
	// This closes stdin after what is queued, and most servers end then.
	w.queue.Close()
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
	w.queue.Close() // so that waitExit does not report the end of stdout
	w.proc.Kill()
	<-w.ended
}

// notRead reports whether a worker that has ended has read nothing of a frame. If it has
// read one byte, it may have acted on it.
func (w *worker) notRead(at *sendqueue.Delivery) bool {
	before, begun := at.Offset()
	return !begun || w.queue.Written.N.Load()-int64(w.unreadInput) <= before
}
