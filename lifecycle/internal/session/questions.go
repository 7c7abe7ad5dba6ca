package session

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// Asker keeps what the user has answered in the client. Several goroutines call it.
type Asker interface {
	// May reports whether the user may be asked today about what words of mcp-jail grant allow.
	May(words []string) bool
	// Begin counts a question. It returns false if there were too many today.
	Begin() bool
	// No keeps for today that the user did not allow what words stand for.
	No(words []string)
	// Yes allows a tool what words stand for, for this session. A stateful server has it once it is started again with
	// what is returned.
	Yes(tool string, words []string) (*Next, error)
}

// Questions asks the user in the client whether the server may have what the jail has refused it. The refused call is
// answered as ever. The question comes at the next call of the same tool, before the server sees that call. The
// methods take nil for a session that asks nothing.
//
// A question is open from the time at which the client gets it until it is answered, cancelled or late. One is open at
// a time, and holds nothing of the server back. If a question of the server's is open, or was answered just before, ours
// waits for a later call.
type Questions struct {
	client *Client
	asker  Asker
	quit   Event

	mu       sync.Mutex
	due      map[string][]object // by tool: what its next call asks about
	granted  map[string]bool     // keys of objects that were allowed
	open     *question
	ours     map[string]bool // the ids of our requests, and our states
	others   time.Time       // when the server's latest question went to the client; zero: it is answered
	answered time.Time       // when the client has answered a question of the server
	dumb     bool            // the client has answered a question with an error
}

// A question is one that the client has.
type question struct {
	id      string // of our request, or the requestState
	call    HeldCall
	frame   *mcpproxy.Frame // the call that waits; nil in the modern era, whose client sends it again
	digest  [32]byte        // of the call, in the modern era
	objects []object
	asked   time.Time
	late    *time.Timer
}

// HeldCall is a call in front of which a question may stand.
type HeldCall struct {
	ID, Tool string
	Pass     func(*mcpproxy.Frame) // gives the call to the server
	Answer   func(line []byte)     // answers it in the server's place; nil: it is cancelled
	Restart  func(*Next)           // has a stateful server started again
}

const (
	maxDue      = 3                // objects of one question
	maxDueTools = 64               // that have some
	apart       = 2 * time.Second  // from the answer to a question of the server to one of ours
	otherWaits  = 2 * time.Minute  // a question of the server that is as old does not count
	maxRestart  = 30 * time.Second // a call waits for the start of its server
)

// The answer to a question.
type answer int

const (
	none answer = iota // the call does not run
	no
	yes
)

func newQuestions(c *Client) *Questions {
	if c.Config.Asker == nil {
		return nil
	}
	return &Questions{
		client: c, asker: c.Config.Asker, quit: Event{Done: make(chan struct{})},
		due: map[string][]object{}, granted: map[string]bool{}, ours: map[string]bool{},
	}
}

// Before returns what stands before a call: Hold, once there is a question or an answer to one, and otherwise nil.
func (q *Questions) Before(e *mcpproxy.Envelope) func(*mcpproxy.Frame, *mcpproxy.Envelope, HeldCall) bool {
	if q == nil || !e.Trackable() {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.due)+len(q.ours) == 0 && !e.Inputs.Present() {
		return nil
	}
	return q.Hold
}

// refused notes what the next call of a tool asks about, and reports whether it asks.
func (q *Questions) refused(s *Server, d diagnostics.Diagnosis) bool {
	if q == nil || d.Tool == "" {
		return false
	}
	found := s.askable(d)
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.due[d.Tool]
	for _, o := range found {
		if !o.isAmong(all) && len(all) < maxDue && len(q.due) < maxDueTools && q.may(o) {
			all = append(all, o)
		}
	}
	if len(all) == 0 || !q.shows() {
		return false
	}
	q.due[d.Tool] = all
	return true
}

// may reports whether a question may be about an object: it was not allowed or denied, nor is it being asked about. The
// caller holds mu.
func (q *Questions) may(o object) bool {
	return !q.granted[o.key()] && (q.open == nil || !o.isAmong(q.open.objects)) && q.asker.May(o.words)
}

// Hold asks before a call, if something is due for its tool. It reports whether the call goes on by itself, or was
// answered.
func (q *Questions) Hold(f *mcpproxy.Frame, e *mcpproxy.Envelope, call HeldCall) bool {
	modern := e.Era() == mcpproxy.Modern
	if modern && q.retried(f, e, call) {
		return true
	}
	open := q.begin(f, e, call)
	switch server := q.client.Config.Profile.Server; {
	case open == nil:
		return false
	case modern:
		call.Answer(inputRequired(call.ID, server, open))
	default:
		q.client.Proxy.Client.Inject(elicitation(server, open))
	}
	return true
}

// begin opens the question that is due before a call, or returns nil.
func (q *Questions) begin(f *mcpproxy.Frame, e *mcpproxy.Envelope, call HeldCall) *question {
	q.mu.Lock()
	defer q.mu.Unlock()
	objects := slices.DeleteFunc(slices.Clone(q.due[call.Tool]), func(o object) bool { return !q.may(o) })
	waits := q.open != nil || e.Inputs.Present() || time.Since(q.answered) < apart || time.Since(q.others) < otherWaits
	if len(objects) == 0 || waits || !f.Flaws.IsStrict() || f.Slice(e.Params) == nil || !q.shows() {
		return nil
	}
	delete(q.due, call.Tool)
	if !q.asker.Begin() {
		return nil
	}
	id := string(JSONString("mcp-jail/" + rand.Text())) // of 130 random bits
	open := &question{id: id, call: call, objects: objects, asked: time.Now()}
	if e.Era() == mcpproxy.Modern {
		open.digest = digestOf(f, e)
	} else {
		open.frame = f.Detach()
	}
	limit := q.client.Times.Question
	open.late = time.AfterFunc(limit, func() { q.close(id, "nobody has answered the question within "+limit.String()) })
	q.open, q.ours[id] = open, true
	return open
}

// take closes the open question if it has an id, and returns it. The caller holds mu.
func (q *Questions) take(id string) *question {
	open := q.open
	if open == nil || open.id != id {
		return nil
	}
	open.late.Stop()
	q.open = nil
	return open
}

// settle does what the answer to a question says, and passes its call on.
func (q *Questions) settle(open *question, said answer, f *mcpproxy.Frame) {
	if said != none && time.Since(open.asked) < q.client.Times.Automatic {
		said = no // no person is as fast
	}
	if said == none {
		q.notRun(open, "the question was cancelled")
		return
	}
	var next *Next
	for _, o := range open.objects {
		if said == no {
			q.asker.No(o.words)
		} else if n, err := q.allow(o); err != nil {
			q.client.warnNow("warning: what was allowed in the client cannot be given: " + err.Error())
		} else {
			next = n
			q.mu.Lock()
			q.granted[o.key()] = true
			q.mu.Unlock()
			q.client.Record.allowed(typedFlags(o))
		}
	}
	if next != nil {
		f.Close()
		q.restart(open, next)
		return
	}
	open.call.Pass(f)
}

// allow gives what the user has allowed, unless it is something else by now: the server may have moved a link meanwhile.
func (q *Questions) allow(o object) (*Next, error) {
	if o.does == "read" && q.client.at(o.words[1]) != o.shown {
		return nil, errors.New(show.Name(o.words[1]) + " leads to another place by now")
	}
	return q.asker.Yes(o.tool, o.words)
}

// restart has a stateful server started again, and then answers the call, which has not run. What was allowed and cannot be
// given may be asked about again.
func (q *Questions) restart(open *question, next *Next) {
	call, over, done := open.call, make(chan string, 1), next.Done
	next.Done = func(took bool) {
		done(took)
		why := "it is started again with what was allowed"
		if !took {
			why = "it could not be started again with what was allowed"
			q.mu.Lock()
			for _, o := range open.objects {
				delete(q.granted, o.key())
			}
			q.mu.Unlock()
		}
		select {
		case over <- why:
		default:
		}
	}
	q.client.Tasks.Go(func() {
		why := "it is being started again with what was allowed"
		select {
		case why = <-over:
		case <-time.After(maxRestart):
		case <-q.quit.Done:
		}
		d := Refusal(-32603, "", q.client.Config.Profile.Server, call.Tool, "the tool was not run: "+why, "call it again")
		q.client.Announce(d)
		call.Answer(d.ErrorFrame([]byte(call.ID)))
	})
	call.Restart(next)
}

// notRun answers the call of a question that has no answer. What it was about is asked before the next call.
func (q *Questions) notRun(open *question, why string) {
	q.again(open)
	if open.frame == nil {
		return // the client was told that the call has not run
	}
	d := Refusal(-32603, "", q.client.Config.Profile.Server, open.call.Tool, "the tool was not run: "+why, "call it again, and the question comes again")
	q.client.Announce(d)
	open.call.Answer(d.ErrorFrame([]byte(open.call.ID)))
	open.frame.Close()
}

// again has the question asked once more at the next call.
func (q *Questions) again(open *question) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.due[open.call.Tool] = open.objects
}

// close ends the wait for an answer, and takes the question back from a legacy client.
func (q *Questions) close(id, why string) {
	if open := q.takeBack(id, why); open != nil {
		q.notRun(open, why)
	}
}

func (q *Questions) takeBack(id, why string) *question {
	q.mu.Lock()
	open := q.take(id)
	q.mu.Unlock()
	if open != nil && open.frame != nil {
		q.client.Proxy.Client.Inject(Cancellation([]byte(id), why))
	}
	return open
}

// openFor returns the id of the open question, or "". It may be asked for that of a legacy call alone.
func (q *Questions) openFor(call []byte) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == nil || call != nil && (q.open.frame == nil || mcpproxy.IDKey([]byte(q.open.call.ID)) != mcpproxy.IDKey(call)) {
		return ""
	}
	return q.open.id
}

// Cancelled reports whether a call that the client cancels was waiting for an answer. It is forgotten.
func (q *Questions) Cancelled(id []byte) bool {
	if q == nil {
		return false
	}
	open := q.takeBack(q.openFor(id), "the call was cancelled")
	if open == nil {
		return false
	}
	q.again(open)
	open.call.Answer(nil)
	open.frame.Close()
	return true
}

// End closes the open question, if there is one: the client has left, or the server has ended.
func (q *Questions) End() {
	if q != nil {
		q.close(q.openFor(nil), "the session has ended")
	}
}

// watch ends the open question when the client has left.
func (q *Questions) watch(left <-chan struct{}) {
	select {
	case <-left:
	case <-q.quit.Done:
	}
	q.End()
}

// Others notes that the server asks the client something, or that the client has answered that.
func (q *Questions) Others(method string, answered bool) {
	if q == nil || method != methodElicit {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.others = time.Now(); answered {
		q.answered, q.others = time.Now(), time.Time{}
	}
}

// text is the question in words. It names the server as `mcp-jail status` does.
func (open *question) text(server string) string {
	objects, flags := "", ""
	for _, o := range open.objects {
		objects += fmt.Sprintf("- to %s %s: %s\n", o.does, o.shown, o.could)
		flags += " " + typedFlags(o)
	}
	grant, _ := show.TypedOK("mcp-jail grant", server) // askable has asked
	again := ""
	if open.call.Restart != nil {
		again = " It is then started again, and forgets what it holds in memory."
	}
	return "The jail has blocked the server " + show.Name(server) + ". It wanted\n" + objects + "Allow it for this session?" + again + " To allow it for good, type in a terminal: " + grant + flags
}
