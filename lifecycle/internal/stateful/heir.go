package stateful

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// An heir is a process of the server that is started, under a newer policy, beside the one that the client has. It goes
// through the client's handshake. In a moment in which no request is open, the old process is ended, and the client has
// the heir.

const (
	heirSilence  = 300 * time.Millisecond // from the last message of an heir in its handshake until it is ready
	maxSilence   = 3 * time.Second        // it is waited for
	heirPatience = 5 * time.Minute        // how long an heir waits for a moment without an open request
	heirTry      = 50 * time.Millisecond
	heirGrace    = 500 * time.Millisecond // from the end of the old one's input to SIGTERM
	cancelled    = 2 * time.Second        // a cancelled call may still write
	asksClient   = 2 * time.Minute        // an answer that asks the client for something: the state of it may be in the process
	maxHeirs     = 20                     // of a session
	maxSaid      = 256                    // requests that are remembered
)

// heirs are the heirs of a session, and what the client has said that each is told.
type heirs struct {
	ctx     context.Context // over when no heir is wanted any more
	cancel  func()
	started int        // used by the goroutine of refresher alone
	ready   chan *heir // gets each that may take over
	lists   bool       // an heir must have the tools that the client knows

	mu         sync.Mutex
	asked      map[string]said   // requests without an answer, by id
	greeting   said              // the initialize or server/discover
	level      []byte            // the logging/setLevel
	subscribed map[string][]byte // the resources/subscribe, by their params
	listens    map[string][]byte // the subscriptions/listen, by id
	tools      map[string]said   // the tools/list, by their params
	meta       []byte            // of the last modern request
	busy       time.Time         // until then the process is not ended
	never      string            // why there is no heir any more in this session, or ""
}

// said is a request of the client as the client has sent it, and the result that it got.
type said struct {
	method, params string
	line, result   []byte
}

const methodListen = "subscriptions/listen"

// ownProbe is the method of a request of ours to an heir.
const ownProbe = "probe"

func isListen(c *mcpproxy.Call) bool { return string(c.Method) == methodListen }

func (h *heirs) init(lists bool) {
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.ready, h.lists = make(chan *heir), lists
	h.asked, h.tools, h.subscribed, h.listens = map[string]said{}, map[string]said{}, map[string][]byte{}, map[string][]byte{}
}

// noteRequest remembers what an heir is told, before we change it.
func (h *heirs) noteRequest(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	h.mu.Lock()
	defer h.mu.Unlock()
	params := f.Slice(e.Params)
	if e.Era() == mcpproxy.Modern {
		h.meta = bytes.Clone(f.Slice(e.ParamsMeta))
	}
	switch string(e.Method) {
	case "tools/call":
		h.noteTask(params, "task")
		return
	case "tools/list":
		if !h.lists {
			return
		}
	case "initialize", "server/discover", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", methodListen:
	default:
		return
	}
	line, whole := f.AppendTo(nil)
	if f.Batch || !whole || !e.Trackable() || len(h.asked)+len(h.subscribed)+len(h.listens)+len(h.tools) >= maxSaid {
		h.never = "the client's requests cannot be repeated"
		return
	}
	if string(e.Method) == methodListen {
		h.listens[mcpproxy.IDKey(e.ID)] = line
		return
	}
	h.asked[mcpproxy.IDKey(e.ID)] = said{method: string(e.Method), params: string(params), line: line}
}

// noteTask notes that a task was made, which lives in the process: a member says so. The caller holds mu.
func (h *heirs) noteTask(object []byte, member string) {
	if h.never == "" && bytes.Contains(object, []byte(`"task"`)) {
		session.EachMember(object, func(name string, _ int64, value []byte) {
			if name == member && (name == "task" || string(value) == `"task"`) {
				h.never = "the client has started a task, which would be lost"
			}
		})
	}
}

func (h *heirs) noteAnswer(f *mcpproxy.Frame, e *mcpproxy.Envelope, c *mcpproxy.Call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	result := f.Slice(e.Result)
	if string(c.Method) == "tools/call" {
		if bytes.Contains(result, []byte("input_required")) {
			h.busy = time.Now().Add(asksClient)
		}
		h.noteTask(result, "task")
		h.noteTask(result, "resultType")
		return
	}
	key := mcpproxy.IDKey(c.ID)
	s, known := h.asked[key]
	delete(h.asked, key)
	if !known || !e.Result.Present() {
		return
	}
	switch s.result = bytes.Clone(result); s.method {
	case "logging/setLevel":
		h.level = s.line
	case "resources/subscribe":
		h.subscribed[s.params] = s.line
	case "resources/unsubscribe":
		delete(h.subscribed, s.params)
	case "tools/list":
		h.tools[s.params] = s
	default:
		h.greeting = s
	}
}

// noteCancelled notes that a call was given up, which may still write.
func (h *heirs) noteCancelled() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if until := time.Now().Add(cancelled); h.busy.Before(until) {
		h.busy = until
	}
}

// isBusy reports whether the process may have something to do for no open request, and why it is never to be ended.
func (h *heirs) isBusy() (busy bool, never string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Before(h.busy), h.never
}

// replay returns what an heir is told, in order.
func (h *heirs) replay() (all []said, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.never != "":
		return nil, errors.New(h.never)
	case h.greeting.line != nil:
		all = append(all, h.greeting)
	case h.meta != nil: // its answer shows that the program is loaded
		all = append(all, said{method: ownProbe, line: mcpproxy.NewRequest([]byte("0"), "server/discover", session.JSONObject("_meta", h.meta))})
	}
	if h.level != nil {
		all = append(all, said{line: h.level})
	}
	for _, line := range h.subscribed {
		all = append(all, said{line: line})
	}
	for _, s := range h.tools {
		all = append(all, s)
	}
	return all, nil
}

// heir is one that is started, and may wait.
type heir struct {
	next                     *session.Next
	server                   *session.Server
	proc                     session.Process
	conn                     *mcpproxy.Conn
	serverEnded, stderrEnded chan struct{}

	bound   atomic.Bool  // the client has it
	last    atomic.Int64 // when it has written last, in nanoseconds
	answers chan *mcpproxy.Frame
	asks    atomic.Pointer[string] // what it asks the client for, who does not know it yet
}

// launch starts an heir, and takes it through the handshake.
func (s *statefulSession) launch(ctx context.Context, next *session.Next) (h *heir, err error) {
	all, err := s.heir.replay()
	if err != nil {
		return nil, err
	}
	h = &heir{next: next, server: &session.Server{}, serverEnded: make(chan struct{}), stderrEnded: make(chan struct{}), answers: make(chan *mcpproxy.Frame, 1)}
	h.server.Init(s.client, next.Profile)
	h.server.Follow(s.server(), next.Unset)
	if h.server.Pipes, err = streams.NewPipes(); err != nil {
		return nil, err
	}
	h.proc, err = h.server.Launch(s.startContext(ctx))
	h.server.Pipes.CloseServerEnds()
	if err != nil {
		h.server.Pipes.CloseOwnEnds()
		return nil, err
	}
	h.server.Adopt(h.proc)
	h.conn = mcpproxy.NewConn(h.server.Pipes.Stdout, h.server.Pipes.Stdin, session.MessageLimit(next.Profile))
	h.conn.Before = h.before
	s.readServer(h)
	limit := next.Profile.Startup
	if limit <= 0 {
		limit = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err = h.greet(ctx, all); err != nil {
		h.end()
		return nil, err
	}
	return h, nil
}

// greet repeats what the client has said. Then it waits until the heir is silent.
func (h *heir) greet(ctx context.Context, all []said) error {
	for _, s := range all {
		f := mcpproxy.Parse(s.line)
		h.server.Roots.Advertise(f, &f.Messages[0])
		answer, err := h.ask(ctx, f)
		if err != nil {
			return err
		}
		e := &answer.Messages[0]
		if s.method == ownProbe {
			continue // any answer shows that it is loaded
		}
		if e.Error.Present() {
			return fmt.Errorf("it answers %s with an error", f.Messages[0].Method)
		}
		if why := s.differs(answer.Slice(e.Result)); why != "" {
			return errors.New(why)
		}
		if s.method == "initialize" {
			h.conn.Inject(mcpproxy.NewNotification("notifications/initialized", nil))
		}
	}
	h.last.Store(time.Now().UnixNano())
	end := time.Now().Add(maxSilence)
	for time.Now().Before(end) && time.Since(time.Unix(0, h.last.Load())) < heirSilence && ctx.Err() == nil {
		time.Sleep(heirTry)
	}
	return h.unfit()
}

// unfit returns why an heir cannot take over any more, or nil.
func (h *heir) unfit() error {
	if asks := h.asks.Load(); asks != nil {
		return fmt.Errorf("it asks the client for %s at its start", *asks)
	}
	if session.IsClosed(h.proc.Done()) {
		exit, _ := h.proc.Wait()
		return errors.New("it has ended (" + session.ExitText(exit) + ")")
	}
	return nil
}

// differs says in which way the answer of an heir is not that which the client has, or "". The name of the server and its
// instructions may be others.
func (s said) differs(now []byte) string {
	type answer struct {
		ProtocolVersion   string
		SupportedVersions []string
		Capabilities      any
		Tools             any
	}
	var a, b answer
	switch {
	case s.result == nil:
	case json.Unmarshal(s.result, &a) != nil, json.Unmarshal(now, &b) != nil:
		return "its answer to " + s.method + " cannot be read"
	case a.ProtocolVersion != b.ProtocolVersion, !reflect.DeepEqual(a.SupportedVersions, b.SupportedVersions):
		return "it speaks another version of the protocol"
	case !reflect.DeepEqual(a.Capabilities, b.Capabilities):
		return "it has other capabilities than the client was told"
	case !reflect.DeepEqual(a.Tools, b.Tools):
		return `it has other tools than the client was told, and pin_tools is "enforce"`
	}
	return ""
}

// ask sends a request and returns the answer.
func (h *heir) ask(ctx context.Context, f *mcpproxy.Frame) (*mcpproxy.Frame, error) {
	id := mcpproxy.IDKey(f.Messages[0].ID)
	if err := h.conn.Send(f); err != nil {
		return nil, err
	}
	for {
		select {
		case answer := <-h.answers:
			if mcpproxy.IDKey(answer.Messages[0].ID) == id {
				return answer, nil
			}
		case <-h.proc.Done():
			return nil, h.unfit()
		case <-ctx.Done():
			return nil, errors.New("it gives no answer")
		}
	}
}

// before takes the frames of an heir that the client does not have yet.
func (h *heir) before(f *mcpproxy.Frame) (taken bool) {
	if h.bound.Load() {
		return false
	}
	h.last.Store(time.Now().UnixNano())
	for i := range f.Messages {
		switch e := &f.Messages[i]; {
		case e.Kind() == mcpproxy.Response && !f.Batch && !f.Oversized:
			select {
			case h.answers <- f.Clone():
			default: // nothing was asked
			}
		case e.Kind() != mcpproxy.Request: // a notification: in the end the client is told that its lists may be others
		case string(e.Method) == "ping" && e.Trackable():
			h.conn.Inject(mcpproxy.NewResponse(e.ID, "result", []byte("{}")))
		default:
			if answer := h.server.Roots.Repeat(e); answer != nil {
				h.conn.Inject(answer)
				break
			}
			asks := "something"
			switch method := string(e.Method); method {
			case "elicitation/create", "sampling/createMessage": // no words of its own
				asks = method
			}
			h.asks.Store(&asks)
			if e.Trackable() {
				h.conn.Inject(mcpproxy.NewError(e.ID, -32603, "mcp-jail: the client does not know this process yet", nil))
			}
		}
	}
	return true
}

// end ends an heir that the client does not get.
func (h *heir) end() {
	h.proc.Kill()
	h.proc.Wait()
	h.server.Pipes.Stdout.StartDrain(0, 0)
	h.server.Pipes.Stderr.StartDrain(0, 0)
	<-h.serverEnded
	<-h.stderrEnded
	h.server.Pipes.CloseOwnEnds()
}

// succeed starts an heir, and offers it to the goroutine that waits for the process. It is for the goroutine of refresher.
func (s *statefulSession) succeed(next *session.Next) {
	var h *heir
	var err error
	switch s.heir.started++; {
	case s.heir.ctx.Err() != nil:
		err = errors.New("it has ended")
	case !s.answered.IsSet():
		err = errors.New("it has not answered yet")
	case s.heir.started > maxHeirs:
		err = fmt.Errorf("it was started %d times in this session", maxHeirs)
	default:
		s.client.Keeps(next, "the new one is being started")
		h, err = s.launch(s.heir.ctx, next)
	}
	if err != nil {
		s.keep(next, err.Error())
		return
	}
	s.client.Keeps(next, "it waits for a moment without an open request")
	select {
	case s.heir.ready <- h:
	case <-s.heir.ctx.Done():
		h.end()
		next.Done(false)
	}
}

// keep says why the client keeps the process that it has.
func (s *statefulSession) keep(next *session.Next, why string) {
	next.Done(false)
	if s.heir.ctx.Err() == nil {
		s.client.CannotSucceed(next, why)
	}
}

// tryHeir has the old process end for the heir, if no request is open.
func (w *processWait) tryHeir() {
	s, h := w.session, w.heir
	busy, never := s.heir.isBusy()
	err := h.unfit()
	switch {
	case err != nil:
	case never != "":
		err = errors.New(never)
	case time.Since(w.heirSince) > heirPatience:
		err = errors.New("it had no moment without an open request for " + heirPatience.String())
	}
	ends := w.term != nil || w.kill != nil || w.cause.byClient || w.cause.signalled
	switch {
	case err != nil:
		w.dropHeir()
		s.keep(h.next, err.Error())
		return
	case ends, busy, !s.server().Sent():
		return
	}
	resume, quiet := s.client.Proxy.Pause(func(c *mcpproxy.Call) bool { return !isListen(c) })
	if !quiet {
		return
	}
	if _, whole := h.proc.Mounts(); !whole {
		resume()
		w.dropHeir()
		s.keep(h.next, "a file of its policy was replaced since")
		return
	}
	w.heir, w.try = nil, nil
	w.cause.heir, w.cause.resume = h, resume
	s.server().Pipes.Stdin.Close()
	w.term = time.After(heirGrace)
}

func (w *processWait) takeHeir(h *heir) {
	w.dropHeir()
	w.heir, w.heirSince, w.try = h, time.Now(), time.Tick(heirTry)
}

// dropHeir ends the heir that waits, if there is one.
func (w *processWait) dropHeir() {
	if h := w.heir; h != nil {
		w.heir, w.try = nil, nil
		h.next.Done(false)
		w.session.client.Tasks.Go(h.end)
	}
}

// adopt makes an heir the process of the client. The old one has ended, and its output was read.
func (s *statefulSession) adopt(h *heir) {
	old := s.server()
	h.server.Succeed(old)
	old.Pipes.CloseOwnEnds()
	s.client.Proxy.Requests.Forget(isListen)
	s.client.Proxy.ServerRequests.Forget(func(*mcpproxy.Call) bool { return false })
	s.current.Store(h.server)
	s.upstream.server.Store(h.conn)
	if s.client.Tools != nil {
		s.client.Tools.Redact = h.server.Redact
	}
	h.next.Done(true)
	h.bound.Store(true)
	s.heir.mu.Lock()
	greeting := s.heir.greeting
	for id, line := range s.heir.listens {
		if s.calls.has(id) {
			h.conn.Replay(line)
		} else {
			delete(s.heir.listens, id)
		}
	}
	s.heir.mu.Unlock()
	var answer struct {
		Capabilities map[string]struct{ ListChanged bool }
	}
	json.Unmarshal(greeting.result, &answer)
	for _, kind := range []string{"tools", "prompts", "resources"} {
		if greeting.method == "initialize" && answer.Capabilities[kind].ListChanged {
			s.client.Proxy.Client.Inject(mcpproxy.NewNotification("notifications/"+kind+"/list_changed", nil))
		}
	}
	s.client.Succeeded()
}
