package lifecycle

import (
	"context"
	"crypto/rand"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/catalog"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Stateless is what a session needs beyond its Session when each call has a process
// of its own. Only Tool is required.
type Stateless struct {
	// Tool resolves the policy of a tool on the host as it is now, and that of the
	// discovery for "". It is asked for each process, on several goroutines.
	Tool func(name string) (Tool, error)
	// Declared are the tools that the configuration names.
	Declared []string
	// Warm is how many spare processes of a tool to keep ready; nil is none.
	Warm func(tool string) int
	// MaxCalls is how many calls run at once; 0 means policy.DefaultMaxConcurrentCalls.
	MaxCalls int
	// Catalog keeps what the server lists from session to session; nil is a session
	// that keeps it for itself.
	Catalog *catalog.Catalog
	// Version is that of the program: what another one has kept is not used.
	Version string
}

// Tool is what one tool's processes run under.
type Tool struct {
	Profile  *policy.Profile
	Warnings []string
	Unset    []string // granted and not set: see diagnostics.Evidence
}

// RunStateless runs one client session in which each tools/call has a process of
// its own, under the policy of its tool, and everything else is answered from the
// catalogue or by a discovery process under s.Profile. It returns how to end: with 0
// when the client has left, by the signal that ended it, and, when no process could be
// started at all, with 1 or 3 as RunStateful does.
func RunStateless(ctx context.Context, s Session, o Stateless) confine.Exit {
	return newPerCall(s, o).run(ctx)
}

func (p *perCall) run(ctx context.Context) confine.Exit {
	ends, stop := listen()
	defer stop()
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer p.client.finish(ctx, ends, func() {})
	defer cancel()
	p.client.goClient(func() error { return p.readClient(working) })
	p.client.tasks.Go(func() { p.background(working) })
	return p.attend(ctx, ends)
}

// perCall is the session of a stateless server under way.
//
// Invariant: a request of the client is in requests until somebody claims it, and
// only who has claimed it answers. So each is answered once, or, when the client has
// cancelled it, not at all.
type perCall struct {
	client  *front
	options Stateless
	name    string // of the server
	private string // how the ids of our own requests begin

	mu        sync.Mutex
	idle      sync.Cond // requests and answering have become empty
	requests  map[string]*request
	answering int                // requests that somebody has claimed and not answered yet
	queue     []waiting          // calls that wait for a slot
	queued    int64              // bytes of theirs
	running   int                // calls that have one
	over      bool               // the session is: requests that still come are dropped
	reversed  map[int64]*reverse // of processes, by the ids that the client sees
	lastAsk   int64
	lastOwn   int64
	last      *hello               // of the two below, that which was seen last
	legacy    *hello               // the client's handshake; nil before it
	modern    *hello               // what its requests say of it in 2026-07-28
	level     []byte               // of the last logging/setLevel
	denials   []diagnostics.Denial // of processes that are gone
	remedies  []diagnostics.Hint   // for those
	children  map[*child]bool
	started   bool         // a process has become ready
	booting   atomic.Int32 // calls whose process is being started
	status    int          // to exit with when none has

	wake        chan struct{}
	discoveries [2]discovery
	lists       listing
	spares      spares
	ending      chan struct{} // a place for each process that is on its way out
}

func newPerCall(s Session, o Stateless) *perCall {
	if s.Profile == nil {
		s.Profile = &policy.Profile{}
	}
	if o.MaxCalls <= 0 {
		o.MaxCalls = policy.DefaultMaxConcurrentCalls
	}
	p := &perCall{
		options: o, name: s.Profile.Server, private: "mcp-jail/" + rand.Text() + "/",
		requests: map[string]*request{}, reversed: map[int64]*reverse{}, children: map[*child]bool{},
		ending: make(chan struct{}, o.MaxCalls), wake: make(chan struct{}, 1),
	}
	p.idle.L = &p.mu
	p.lists.tools = map[string]bool{}
	p.spares.tools = map[string]*spareTool{}
	p.client = newFront(s, mcpproxy.Hooks{}, p.allDenials)
	return p
}

// attend waits for the end of the session. Calls under way when the client has closed
// its end have the time that a server would have.
func (p *perCall) attend(ctx context.Context, ends <-chan os.Signal) (exit confine.Exit) {
	var last *diagnostics.Diagnosis
	dead, stopHangup := watchHangup(p.client.config.In, p.client.config.Out)
	defer stopHangup()
	select {
	case <-p.client.clientEnded:
		p.client.tasks.Go(p.endListens)
		answered := make(chan struct{})
		p.client.tasks.Go(func() {
			defer close(answered)
			p.untilAnswered()
		})
		timer := time.NewTimer(p.client.times.term)
		defer timer.Stop()
		select {
		case <-answered:
		case <-timer.C:
			last = &diagnostics.Diagnosis{
				Code: diagnostics.CodeDied, Stage: diagnostics.StageCall, Attribution: diagnostics.None, Server: p.name,
				What: "the client closed its end, and there was no answer within " + p.client.times.term.String(),
			}
		case <-p.client.gone.c:
		case <-dead:
			p.client.gone.set()
		case sig := <-ends:
			exit = endedBy(sig)
		case <-ctx.Done():
			exit = endedBy(syscall.SIGTERM)
		}
	case <-p.client.gone.c:
	case <-dead:
		p.client.gone.set()
	case sig := <-ends:
		exit = endedBy(sig)
	case <-ctx.Done():
		exit = endedBy(syscall.SIGTERM)
	}
	if exit.Signal != 0 || p.client.gone.isSet() {
		p.client.hurry()
	}
	p.leaveOpen(last)
	if exit.Signal != 0 {
		return exit
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started {
		return confine.Exit{}
	}
	return confine.Exit{Code: p.status}
}

// begin starts a task for who reads the client, and is no task itself. When the
// session is over nobody waits for one any more.
func (p *perCall) begin(task func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.client.tasks.Go(task)
	}
}

// untilAnswered waits until every request of the client is answered, and the answers
// are sent.
func (p *perCall) untilAnswered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.requests)+p.answering > 0 {
		p.idle.Wait()
	}
}

// leaveOpen ends what is open when the session is over: with d, or without an answer
// where there is none. Only finish may wait for a client that does not read it.
func (p *perCall) leaveOpen(d *diagnostics.Diagnosis) {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	open := slices.DeleteFunc(p.unanswered(), func(rq *request) bool { return !p.claim(rq) })
	p.client.tasks.Go(func() {
		for _, rq := range open {
			if d != nil {
				p.deliver(rq, d.ErrorFrame(rq.id))
			} else {
				p.discard(rq)
			}
		}
	})
}

func (p *perCall) unanswered() (all []*request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, rq := range p.requests {
		all = append(all, rq)
	}
	return all
}

// accepted tells, once, which gaps the user has accepted.
func (p *perCall) accepted(plan *confine.Plan) {
	for _, line := range waived(plan) {
		p.client.recording.Lock()
		if !slices.Contains(p.client.record.Waived, line) {
			p.client.record.Waived = append(p.client.record.Waived, line)
		}
		p.client.recording.Unlock()
		p.client.say(line)
	}
}

// maxDenials bounds what is remembered of the jails that are gone.
const maxDenials = 1000

// allDenials are those of all processes, for the record.
func (p *perCall) allDenials() ([]diagnostics.Denial, []diagnostics.Hint) {
	p.mu.Lock()
	all, remedies := p.denials[:len(p.denials):len(p.denials)], p.remedies[:len(p.remedies):len(p.remedies)]
	children := slices.Collect(maps.Keys(p.children))
	p.mu.Unlock()
	for _, c := range children { // a jail may take its time to tell
		denials, more := c.server.refused()
		all, remedies = append(all, denials...), added(remedies, more)
	}
	return all, remedies
}

// forget takes out a process.
func (p *perCall) forget(c *child) {
	denials, remedies := c.server.refused()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.children, c)
	p.denials, p.remedies = append(p.denials, denials...), added(p.remedies, remedies)
	if n := len(p.denials) - maxDenials; n > 0 {
		p.denials = append(p.denials[:0:0], p.denials[n:]...)
	}
}

// added appends what is not there yet: each process of a tool is refused the same.
func added(hints, more []diagnostics.Hint) []diagnostics.Hint {
	for _, h := range more {
		same := func(o diagnostics.Hint) bool { return o.Target == h.Target && slices.Equal(o.Grant, h.Grant) }
		if len(hints) < maxRecords && !slices.ContainsFunc(hints, same) {
			hints = append(hints, h)
		}
	}
	return hints
}
