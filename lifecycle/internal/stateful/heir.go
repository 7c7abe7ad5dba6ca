package stateful

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
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
	maxSilence   = 3 * time.Second // how long we wait for an heir to be silent
	heirPatience = 5 * time.Minute // how long an heir waits for a moment without an open request
	heirTry      = 50 * time.Millisecond
	heirGrace    = 500 * time.Millisecond // from the end of the old one's input to SIGTERM
	cancelled    = 2 * time.Second        // a cancelled call may still write
	asksClient   = 2 * time.Minute        // an answer that asks the client for something: the state of it may be in the process
	maxHeirs     = 20                     // of a session
	maxSaid      = 256                    // requests that an heir is told
)

// heirs are the heirs of a session, and what the client has said that each is told.
type heirs struct {
	ctx     context.Context // over when no heir is wanted any more
	cancel  func()
	started int               // used by the goroutine of refresher alone
	ready   chan *heir        // gets each that may take over
	lists   bool              // an heir must have the tools that the client knows
	open    *mcpproxy.Pending // the requests of the client without an answer

	mu           sync.Mutex
	told         []said    // what an heir is told, in order, with one for each key
	count        int       // how often told has changed
	meta         []byte    // of the last modern request
	capabilities []byte    // of the last initialize
	busy         time.Time // until then the process is not ended
	never        string    // why there is no heir any more in this session, or ""
}

// said is a request of the client as the client has sent it, and the result that it got.
type said struct {
	method, key  string // a later one with the same key replaces it
	line, result []byte
}

const cannotRepeat = "the client's requests cannot be repeated"

// greeting is the key of an initialize and of a server/discover.
const greeting = "greeting"

const (
	methodListen   = "subscriptions/listen"
	methodDiscover = "server/discover"
)

// ownProbe is the method of a request of ours to an heir.
const ownProbe = "probe"

// mayStayOpen reports whether an answer to a request may never come: an heir does not wait for it, and is asked
// for it again.
func mayStayOpen(c *mcpproxy.Call) bool {
	return string(c.Method) == methodListen || string(c.Method) == methodDiscover
}

func (h *heirs) init(lists bool, open *mcpproxy.Pending) {
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.ready, h.lists, h.open = make(chan *heir), lists, open
}

// noteRequest has a request kept that an heir is told, or whose answer is compared, before we change it.
func (h *heirs) noteRequest(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.Era() == mcpproxy.Modern {
		h.meta = bytes.Clone(f.Slice(e.ParamsMeta))
	}
	switch string(e.Method) {
	case "tools/call":
		h.noteState(f.Slice(e.Params))
		return
	case "initialize":
		h.capabilities = bytes.Clone(f.Slice(e.Capabilities))
	case "tools/list", methodDiscover, "resources/subscribe", "resources/unsubscribe", "logging/setLevel", methodListen:
	default:
		return
	}
	if !h.open.Keep(f, e) && (h.lists || string(e.Method) != "tools/list") {
		h.never = cannotRepeat
	}
}

// keyOf returns the key of a request that an heir is told.
func keyOf(c *mcpproxy.Call) string {
	f := mcpproxy.Parse(c.Line)
	params := f.Slice(f.Messages[0].Params)
	switch method := string(c.Method); method {
	case "tools/list":
		return method + " " + session.CursorOf(params)
	case "initialize", methodDiscover:
		return greeting
	case "resources/subscribe", "resources/unsubscribe":
		var of struct{ URI string }
		json.Unmarshal(params, &of)
		return "resource " + of.URI
	default:
		return method
	}
}

// noteState notes what the params or the result of a call say of a state that the process keeps for it. The caller holds
// mu.
func (h *heirs) noteState(object []byte) {
	if !bytes.Contains(object, []byte(`"task"`)) && !bytes.Contains(object, []byte(`"input_required"`)) {
		return
	}
	session.EachMember(object, func(name string, _ int64, value []byte) {
		switch {
		case name == "task", name == "resultType" && string(value) == `"task"`:
			h.never = "the client has started a task, which would be lost"
		case name == "resultType" && string(value) == `"input_required"`:
			h.busy = time.Now().Add(asksClient)
		}
	})
}

func (h *heirs) noteAnswer(f *mcpproxy.Frame, e *mcpproxy.Envelope, c *mcpproxy.Call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	result := f.Slice(e.Result)
	if string(c.Method) == "tools/call" {
		h.noteState(result)
		return
	}
	if c.Line == nil || !e.Result.Present() || string(c.Method) == methodListen || string(c.Method) == "tools/list" && !h.lists {
		return
	}
	h.count++
	s := said{method: string(c.Method), key: keyOf(c), line: c.Line, result: bytes.Clone(result)}
	at := slices.IndexFunc(h.told, func(t said) bool { return t.key == s.key })
	switch {
	case s.method == "resources/unsubscribe":
		h.told = slices.DeleteFunc(h.told, func(t said) bool { return t.key == s.key })
	case at >= 0:
		h.told[at] = s
	case len(h.told) >= maxSaid:
		h.never = cannotRepeat
	default:
		h.told = append(h.told, s)
	}
}

// legacyCapabilities returns those that the client has named in its last initialize.
func (h *heirs) legacyCapabilities() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.capabilities
}

// greeting returns the request with which the client has begun, if it has. The caller holds mu.
func (h *heirs) greeting() (s said, found bool) {
	if i := slices.IndexFunc(h.told, func(t said) bool { return t.key == greeting }); i >= 0 {
		return h.told[i], true
	}
	return said{}, false
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

// replay returns what an heir is told, in order, and how often that has changed.
func (h *heirs) replay() (all []said, count int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.never != "" {
		return nil, 0, errors.New(h.never)
	}
	if _, found := h.greeting(); !found && h.meta != nil { // its answer shows that the program is loaded
		all = []said{{method: ownProbe, line: mcpproxy.NewRequest([]byte("0"), "server/discover", session.JSONObject("_meta", h.meta))}}
	}
	return append(all, h.told...), h.count, nil
}

// hasMore reports whether the client has said more than an heir was told.
func (h *heirs) hasMore(than *heir) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count != than.count
}

// heir is one that is started, and may wait.
type heir struct {
	next                     *session.Next
	server                   *session.Server
	proc                     session.Process
	conn                     *mcpproxy.Conn
	serverEnded, stderrEnded chan struct{}
	count                    int // of heirs, when it was started

	bound   atomic.Bool            // the client has it
	last    atomic.Int64           // when it has written last, in nanoseconds
	awaits  atomic.Pointer[string] // the id of the request that it was asked
	answers chan *mcpproxy.Frame   // has the answer to that
	asks    atomic.Pointer[string] // what it asked the client for before the swap; the client never sees that
	roots   atomic.Bool            // it has asked for the client's roots, and got the last ones
}

// launch starts an heir, and takes it through the handshake.
func (s *statefulSession) launch(ctx context.Context, next *session.Next) (h *heir, err error) {
	all, count, err := s.heir.replay()
	if err != nil {
		return nil, err
	}
	h = &heir{next: next, count: count, server: &session.Server{}, serverEnded: make(chan struct{}), stderrEnded: make(chan struct{}), answers: make(chan *mcpproxy.Frame, 1)}
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
	if err = h.greet(ctx, all, s.client.Times.HeirSilence); err != nil {
		h.end()
		return nil, err
	}
	return h, nil
}

// greet repeats what the client has said. Then it waits until the heir is silent.
func (h *heir) greet(ctx context.Context, all []said, silence time.Duration) error {
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
	for time.Now().Before(end) && time.Since(time.Unix(0, h.last.Load())) < silence && ctx.Err() == nil {
		time.Sleep(min(heirTry, silence))
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
	case s.key != greeting && s.method != "tools/list":
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
	h.awaits.Store(&id)
	if err := h.conn.Send(f); err != nil {
		return nil, err
	}
	select {
	case answer := <-h.answers:
		return answer, nil
	case <-h.proc.Done():
		return nil, h.unfit()
	case <-ctx.Done():
		return nil, errors.New("it gives no answer")
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
			if id := h.awaits.Load(); id != nil && mcpproxy.IDKey(e.ID) == *id && h.awaits.CompareAndSwap(id, nil) {
				h.answers <- f.Clone()
			}
		case e.Kind() != mcpproxy.Request: // a notification: in the end the client is told that its lists may be others
		case string(e.Method) == "ping" && e.Trackable():
			h.conn.Inject(mcpproxy.NewResponse(e.ID, "result", []byte("{}")))
		default:
			if answer := h.server.Roots.Repeat(e); answer != nil {
				h.roots.Store(true)
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
		w.dropHeir(func(next *session.Next) {
			s.client.Tasks.Go(func() { s.keep(next, err.Error()) }) // the client may not read
		})
		return
	case ends, busy, !s.server().Sent():
		return
	}
	resume, quiet := s.client.Proxy.Pause(func(c *mcpproxy.Call) bool { return !mayStayOpen(c) })
	if !quiet {
		return
	}
	if streams.UnreadBytes(s.server().Pipes.Stdin) > 0 {
		resume()
		return
	}
	if _, whole := h.proc.Mounts(); !whole || s.heir.hasMore(h) {
		resume()
		w.dropHeir(s.refresh.restart)
		return
	}
	w.heir, w.try = nil, nil
	w.cause.heir, w.cause.resume = h, resume
	s.server().Pipes.Stdin.Close()
	w.term = time.After(heirGrace)
}

func (w *processWait) takeHeir(h *heir) {
	w.dropHeir(refuse)
	w.heir, w.heirSince, w.try = h, time.Now(), time.Tick(heirTry)
}

func refuse(next *session.Next) { next.Done(false) }

// dropHeir ends the heir that waits, if there is one. then gets what it was started for.
func (w *processWait) dropHeir(then func(*session.Next)) {
	if h := w.heir; h != nil {
		w.heir, w.try = nil, nil
		w.session.client.Tasks.Go(h.end)
		then(h.next)
	}
}

// adopt makes an heir the process of the client. The old one has ended, and its output was read.
func (s *statefulSession) adopt(h *heir) {
	old := s.server()
	h.server.Succeed(old)
	old.Pipes.CloseOwnEnds()
	s.client.Proxy.Requests.Forget(mayStayOpen)
	s.client.Proxy.ServerRequests.Forget(func(*mcpproxy.Call) bool { return false })
	s.client.Proxy.ServerRequests.Open()
	s.current.Store(h.server)
	s.upstream.server.Store(h.conn)
	if s.client.Tools != nil {
		s.client.Tools.Redact = h.server.Redact
	}
	h.next.Done(true)
	h.bound.Store(true)
	var again [][]byte
	s.client.Proxy.Requests.Each(func(c *mcpproxy.Call) { again = append(again, c.Line) })
	if h.roots.Load() { // they may be others by now
		again = append(again, mcpproxy.NewNotification("notifications/roots/list_changed", nil))
	}
	s.client.Tasks.Go(func() { // the process may not read
		for _, line := range again {
			h.conn.Replay(line)
		}
	})
	s.client.Tasks.Go(func() { // nor the client
		s.tellChanged("tools", "prompts", "resources")
		s.client.Succeeded(h.next)
	})
}

// tellChanged tells the client that lists may be others, if its handshake has said that it is told.
func (s *statefulSession) tellChanged(kinds ...string) {
	s.heir.mu.Lock()
	hello, _ := s.heir.greeting()
	s.heir.mu.Unlock()
	for _, kind := range kinds {
		if hello.method == "initialize" && session.Declares(hello.result, kind) {
			s.client.Proxy.Client.Inject(mcpproxy.NewNotification("notifications/"+kind+"/list_changed", nil))
		}
	}
}
