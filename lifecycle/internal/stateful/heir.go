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
	"github.com/mcp-jail/mcp-jail/policy"
)

// An heir is a process of the server that is started, under a newer policy, beside the one that the client has. It goes
// through the client's handshake. When no request is open, the old process is ended, and the client has the heir.

const (
	heirSilence  = 300 * time.Millisecond // from the last message of an heir in its handshake until it is ready
	heirPatience = 5 * time.Minute        // how long an heir waits for a moment without an open request
	maxSilence   = 3 * time.Second        // it is waited for
	heirTry      = 50 * time.Millisecond
	heirGrace    = 500 * time.Millisecond // from the end of the old one's input to SIGTERM
	maxHeirs     = 20                     // of a session
	maxReplayed  = 256                    // subscriptions
)

// heirs are the heirs of a session, and what they are told.
type heirs struct {
	ctx     context.Context // over when the session is
	cancel  func()
	started int
	ready   chan *heir // gets each that may take over

	mu         sync.Mutex
	initialize []byte            // as the client has sent it; nil: it has sent none
	result     []byte            // the answer that the client has
	level      []byte            // the last logging/setLevel
	subscribed map[string][]byte // the resources/subscribe, by what they are about
	listens    map[string][]byte // the subscriptions/listen, by id
	meta       []byte            // of the last modern request
	tasks      bool              // the client has made a task, which lives in the process
	asksUntil  time.Time         // an answer asks the client for something, and the server waits for the answer
}

func (h *heirs) noteRequest(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	var to *[]byte
	switch method := string(e.Method); method {
	case "initialize":
		to = &h.initialize
	case "logging/setLevel":
		to = &h.level
	case "resources/subscribe", "resources/unsubscribe", "tools/call", methodListen:
	default:
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.Era() == mcpproxy.Modern {
		h.meta = bytes.Clone(f.Slice(e.ParamsMeta))
	}
	switch params := f.Slice(e.Params); {
	case f.Batch:
	case string(e.Method) == methodListen:
		h.listens = keepLine(h.listens, mcpproxy.IDKey(e.ID), f)
	case to != nil:
		*to, _ = f.AppendTo(nil)
	case string(e.Method) == "tools/call":
		h.tasks = h.tasks || bytes.Contains(params, []byte(`"task"`)) && hasMember(params, "task")
		h.asksUntil = time.Time{}
	case string(e.Method) == "resources/unsubscribe":
		delete(h.subscribed, string(params))
	default:
		h.subscribed = keepLine(h.subscribed, string(params), f)
	}
}

const methodListen = "subscriptions/listen"

func isListen(c *mcpproxy.Call) bool { return string(c.Method) == methodListen }

func keepLine(in map[string][]byte, key string, f *mcpproxy.Frame) map[string][]byte {
	if in == nil {
		in = map[string][]byte{}
	}
	if len(in) < maxReplayed {
		in[key], _ = f.AppendTo(nil)
	}
	return in
}

func hasMember(object []byte, name string) (has bool) {
	session.EachMember(object, func(n string, _ int64, _ []byte) { has = has || n == name })
	return has
}

func (h *heirs) noteAnswer(f *mcpproxy.Frame, e *mcpproxy.Envelope, method string) {
	switch {
	case !e.Result.Present():
	case method == "initialize":
		h.mu.Lock()
		h.result = bytes.Clone(f.Slice(e.Result))
		h.mu.Unlock()
	case method == "tools/call" && bytes.Contains(f.Slice(e.Result), []byte("input_required")):
		h.mu.Lock()
		h.asksUntil = time.Now().Add(2 * time.Minute)
		h.mu.Unlock()
	}
}

// replay returns what an heir is sent, in order: the initialize, and what follows it.
func (h *heirs) replay() (first, result []byte, rest [][]byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tasks {
		return nil, nil, nil, errors.New("the client has made tasks, which would be lost")
	}
	if h.initialize == nil {
		if h.meta != nil { // its answer shows that the program is loaded
			first = mcpproxy.NewRequest([]byte("0"), "server/discover", session.JSONObject("_meta", h.meta))
		}
		return first, nil, nil, nil
	}
	if h.level != nil {
		rest = append(rest, h.level)
	}
	for _, line := range h.subscribed {
		rest = append(rest, line)
	}
	return h.initialize, h.result, rest, nil
}

type heir struct {
	server                   *session.Server
	proc                     session.Process
	conn                     *mcpproxy.Conn
	serverEnded, stderrEnded chan struct{}

	bound   atomic.Bool // the client has it
	last    atomic.Int64
	answers chan *mcpproxy.Frame
	asked   atomic.Pointer[string] // a request that nobody can answer yet
}

// launch starts an heir under a profile, and takes it through the handshake.
func (s *statefulSession) launch(ctx context.Context, p *policy.Profile) (h *heir, err error) {
	first, result, rest, err := s.heir.replay()
	if err != nil {
		return nil, err
	}
	h = &heir{server: &session.Server{}, serverEnded: make(chan struct{}), stderrEnded: make(chan struct{}), answers: make(chan *mcpproxy.Frame, 1)}
	h.server.Init(s.client, p)
	h.server.Quiet.Store(true)
	h.server.Roots.Follow(&s.server().Roots)
	if h.server.Pipes, err = streams.NewPipes(); err != nil {
		return nil, err
	}
	h.proc, err = h.server.Launch(ctx)
	h.server.Pipes.CloseServerEnds()
	if err != nil {
		h.server.Pipes.CloseOwnEnds()
		return nil, err
	}
	h.server.Adopt(h.proc)
	h.conn = mcpproxy.NewConn(h.server.Pipes.Stdout, h.server.Pipes.Stdin, session.MessageLimit(p))
	h.conn.Before = h.before
	s.readServer(h)
	limit := s.server().Profile.Startup
	if limit <= 0 {
		limit = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err = h.greet(ctx, first, result, rest); err != nil {
		h.end()
		return nil, err
	}
	return h, nil
}

func (h *heir) greet(ctx context.Context, first, result []byte, rest [][]byte) error {
	if first == nil {
		return nil
	}
	f := mcpproxy.Parse(first)
	h.server.Roots.Advertise(f, &f.Messages[0])
	answer, err := h.ask(ctx, f)
	if result == nil && answer != nil { // modern: any answer will do
		return nil
	}
	if err != nil {
		return err
	}
	if why := differs(result, answer.Slice(answer.Messages[0].Result)); why != "" {
		return errors.New(why)
	}
	h.conn.Inject(mcpproxy.NewNotification("notifications/initialized", nil))
	for _, line := range rest {
		if _, err := h.ask(ctx, mcpproxy.Parse(line)); err != nil {
			return err
		}
	}
	h.last.Store(time.Now().UnixNano())
	end := time.Now().Add(maxSilence)
	for time.Now().Before(end) && time.Since(time.Unix(0, h.last.Load())) < heirSilence && ctx.Err() == nil {
		time.Sleep(heirTry)
	}
	if asked := h.asked.Load(); asked != nil {
		return fmt.Errorf("it asks the client for %s at its start", *asked)
	}
	return nil
}

// differs says in which way the answer of an heir is not that which the client has, or "".
func differs(before, now []byte) string {
	type answer struct {
		ProtocolVersion string
		Capabilities    any
	}
	var a, b answer
	switch {
	case json.Unmarshal(before, &a) != nil, json.Unmarshal(now, &b) != nil:
		return "its answer to initialize cannot be read"
	case a.ProtocolVersion != b.ProtocolVersion:
		return "it speaks another version of the protocol"
	case !reflect.DeepEqual(a.Capabilities, b.Capabilities):
		return "it has other capabilities than the client was told"
	}
	return ""
}

func (h *heir) ask(ctx context.Context, f *mcpproxy.Frame) (*mcpproxy.Frame, error) {
	if err := h.conn.Send(f); err != nil {
		return nil, err
	}
	select {
	case answer := <-h.answers:
		if answer.Messages[0].Error.Present() {
			return answer, errors.New("it answers with an error: " + session.FailureText(answer, &answer.Messages[0]))
		}
		return answer, nil
	case <-h.proc.Done():
		return nil, h.ended()
	case <-ctx.Done():
		return nil, errors.New("it gives no answer")
	}
}

// before takes the messages of an heir that the client does not have yet.
func (h *heir) before(f *mcpproxy.Frame) (taken bool) {
	if h.bound.Load() {
		return false
	}
	h.last.Store(time.Now().UnixNano())
	for i := range f.Messages {
		switch e := &f.Messages[i]; {
		case e.Kind() == mcpproxy.Response && !f.Batch:
			select {
			case h.answers <- f.Clone():
			default:
			}
		case e.Kind() != mcpproxy.Request: // a notification: the client is told at the end that its lists may be others
		case string(e.Method) == "ping":
			h.conn.Inject(mcpproxy.NewResponse(e.ID, "result", []byte("{}")))
		default:
			if answer := h.server.Roots.Repeat(e); answer != nil {
				h.conn.Inject(answer)
				break
			}
			asked := string(e.Method)
			h.asked.Store(&asked)
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

// succeed starts an heir. It is for the goroutine of refresher.
func (s *statefulSession) succeed(p *policy.Profile) {
	if s.heir.started++; s.heir.started > maxHeirs || !s.answered.IsSet() {
		return
	}
	h, err := s.launch(s.heir.ctx, p)
	if err != nil {
		s.sayKept(err.Error())
		return
	}
	select {
	case s.heir.ready <- h:
	case <-s.messages.refresh.ended:
		h.end()
	}
}

func (s *statefulSession) sayKept(why string) {
	s.client.TellRefreshed(session.Refreshed{Notice: fmt.Sprintf("warning: %s was not started again, and keeps the policy that it started with: %s. Restart it in your client", s.server().Profile.Server, why)}, false)
}

// tryHeir gives the client the heir, if no request is open, and has the old process end.
func (w *processWait) tryHeir() {
	s, h := w.session, w.heir
	_, whole := h.proc.Mounts()
	s.heir.mu.Lock()
	asks, tasks := time.Now().Before(s.heir.asksUntil), s.heir.tasks
	s.heir.mu.Unlock()
	resume, quiet := s.client.Proxy.Pause(func(c *mcpproxy.Call) bool { return !isListen(c) })
	late := time.Since(w.heirSince) > heirPatience
	switch why := ""; {
	case w.term != nil || w.kill != nil || w.cause.byClient || w.cause.signalled: // the session is at its end
	case session.IsClosed(h.proc.Done()), !whole, tasks:
		why = "the new process has ended, or its files are not those of its start any more"
		fallthrough
	case late:
		if why == "" {
			why = "it has answered without a pause for " + heirPatience.String()
		}
		w.dropHeir()
		s.sayKept(why)
	case quiet && !asks && s.server().Sent():
		w.try, w.heir, w.cause.heir, w.cause.resume = nil, nil, h, resume
		s.server().Pipes.Stdin.Close()
		w.term = time.After(heirGrace)
		return
	}
	if quiet {
		resume()
	}
}

func (w *processWait) dropHeir() {
	if h := w.heir; h != nil {
		w.heir, w.try = nil, nil
		w.session.client.Tasks.Go(h.end)
	}
}

// adopt makes an heir the process of the client. The old one has ended, and its output was read.
func (s *statefulSession) adopt(h *heir) {
	old := s.server()
	h.server.Processes.Follow(&old.Processes)
	h.server.Quiet.Store(false)
	old.Pipes.CloseOwnEnds()
	s.client.Proxy.Requests.Forget(isListen)
	s.client.Proxy.ServerRequests.Forget(isListen)
	s.current.Store(h.server)
	s.upstream.server.Store(h.conn)
	h.bound.Store(true)
	s.heir.mu.Lock()
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
	s.heir.mu.Lock()
	json.Unmarshal(s.heir.result, &answer)
	s.heir.mu.Unlock()
	for _, kind := range []string{"tools", "prompts", "resources"} {
		if answer.Capabilities[kind].ListChanged {
			s.client.Proxy.Client.Inject(mcpproxy.NewNotification("notifications/"+kind+"/list_changed", nil))
		}
	}
	s.client.TellRefreshed(session.Refreshed{Notice: s.server().Profile.Server + " was started again under its new policy (" + time.Now().Format(time.TimeOnly) + "). What it held in memory is lost"}, false)
}

// ended says how an heir ended in its handshake.
func (h *heir) ended() error {
	exit, _ := h.proc.Wait()
	return errors.New("it has ended (" + session.ExitText(exit) + ")")
}
