package stateless

import (
	"context"
	"crypto/rand"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/catalog"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Options holds what a session needs beyond its Session if each call has a process of
// its own. Only Tool is required.
type Options struct {
	// Tool resolves the policy of a tool on the host as it is now; "" is the discovery
	// worker. It is called for each process, by several goroutines.
	Tool func(name string) (Tool, error)
	// Declared returns the tools that the configuration names. nil means none.
	Declared func() []string
	// Warm returns how many warm workers of a tool to keep ready. nil means none.
	Warm func(tool string) int
	// MaxCalls is how many calls run at once; 0 means policy.DefaultMaxConcurrentCalls.
	MaxCalls int
	// Catalog keeps the server's lists between sessions. With nil the session keeps
	// them for itself.
	Catalog *catalog.Catalog
	// Version is the version of mcp-jail. Lists that another version has kept are not used.
	Version string
}

// Tool is the policy of the processes of one tool.
type Tool struct {
	Profile  *policy.Profile
	Warnings []string
	Unset    []string // variables that are granted and not set: see diagnostics.Evidence
}

// Run runs one client session in which each tools/call has a process of its own,
// under the policy of its tool. Other requests are answered from the catalog, by a discovery
// worker, or by mcp-jail itself. It returns how the program should end: with 0 when the
// client has left; by the signal that ended it; and with the status of the last failed start,
// as RunStateful does, if no process became ready at all.
func Run(ctx context.Context, s session.Session, o Options) confine.Exit {
	return newStatelessSession(s, o).run(ctx)
}

// run runs the session to its end.
func (s *statelessSession) run(ctx context.Context) confine.Exit {
	ends, caught, stop := session.ListenForSignals()
	s.signalsCaught = caught
	defer stop()
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer s.client.Finish(ctx, ends, func() {})
	defer cancel()
	s.client.StartReading(func() error { return s.readClient(working) })
	s.client.Tasks.Go(func() { s.background(working) })
	return s.wait(ctx, ends)
}

// statelessSession is a running session of a stateless server.
//
// Invariant: a request of the client is in requests until a goroutine claims it, and only
// the goroutine that has claimed it answers it. So each request is answered once, or, if
// the client has cancelled it, not at all.
type statelessSession struct {
	client     *session.Client
	options    Options
	serverName string
	idPrefix   string // of the ids of our own requests

	mu                  sync.Mutex
	idle                sync.Cond // requests has become empty, and answering 0
	requests            map[string]*clientRequest
	answering           int                      // requests that were claimed and are not answered yet
	queue               []queuedCall             // calls that wait for a slot
	kept                *mcpproxy.Share          // what they take, and other requests
	running             int                      // calls that have a slot
	ended               bool                     // the session is over: requests that still come are dropped
	serverRequests      map[int64]*serverRequest // of workers, by the ids that the client sees
	lastServerRequest   int64
	lastInternalRequest int64
	latestInfo          *clientInfo        // the one of the two below that came last
	legacyInfo          *clientInfo        // of the client's initialize; nil before it
	modernInfo          *clientInfo        // of the client's modern requests; nil before them
	logLevel            []byte             // params of the last logging/SetLevel
	pastDenials         []policy.Denial    // of workers that are gone
	pastRemedies        []diagnostics.Hint // for pastDenials
	workers             map[*worker]bool
	anyReady            bool            // a worker has become ready
	startingCalls       atomic.Int32    // calls whose worker is being started
	signalsCaught       func()          // see ListenForSignals; nil in tests of parts
	failureStatus       int             // exit status if no worker becomes ready
	profile             *policy.Profile // of discovery workers, by the configuration as it is now

	wakeup      chan struct{}
	discoveries [2]discovery
	cache       listCache
	pool        pool
	exiting     chan struct{} // a place for each worker that is ending
}

func newStatelessSession(s session.Session, o Options) *statelessSession {
	if s.Profile == nil {
		s.Profile = &policy.Profile{}
	}
	if o.MaxCalls <= 0 {
		o.MaxCalls = policy.DefaultMaxConcurrentCalls
	}
	p := &statelessSession{
		options: o, profile: s.Profile, serverName: s.Profile.Server, idPrefix: "mcp-jail/" + rand.Text() + "/",
		requests: map[string]*clientRequest{}, serverRequests: map[int64]*serverRequest{}, workers: map[*worker]bool{},
		exiting: make(chan struct{}, o.MaxCalls), wakeup: make(chan struct{}, 1),
	}
	p.idle.L = &p.mu
	p.cache.tools = map[string]bool{}
	p.pool.tools = map[string]*warmTool{}
	p.pool.maxStarting = max(1, runtime.GOMAXPROCS(0)/2)
	p.client = session.NewClient(s, mcpproxy.Hooks{}, p.allDenials, p.countRefused)
	p.kept = p.client.Proxy.Memory.Share(mcpproxy.Memory / 8)
	if p.client.Tools != nil {
		p.client.Tools.Redact = diagnostics.NewRedactor(s.Profile.Env)
	}
	return p
}

// wait waits for the end of the session. When the client closes its end, open requests get the
// time that a stateful server would get.
func (s *statelessSession) wait(ctx context.Context, ends <-chan os.Signal) (exit confine.Exit) {
	var last *diagnostics.Diagnosis
	dead, stopHangup := session.WatchHangup(s.client.Config.In, s.client.Config.Out)
	defer stopHangup()
	select {
	case <-s.client.InputEnded:
		s.client.Tasks.Go(s.endSubscriptions)
		answered := make(chan struct{})
		s.client.Tasks.Go(func() {
			defer close(answered)
			s.waitAnswered()
		})
		timer := time.NewTimer(s.client.Times.Term)
		defer timer.Stop()
		select {
		case <-answered:
		case <-timer.C:
			last = &diagnostics.Diagnosis{
				Code: diagnostics.CodeDied, Stage: diagnostics.StageCall, Attribution: diagnostics.None, Server: s.serverName,
				Explain: diagnostics.PageServerEnded,
				What:    "the client closed its end, and there was no answer within " + s.client.Times.Term.String(),
			}
		case <-s.client.Gone.Done:
		case <-dead:
			s.client.Gone.Set()
		case sig := <-ends:
			exit = session.EndedBy(sig)
		case <-ctx.Done():
			exit = session.EndedBy(syscall.SIGTERM)
		}
	case <-s.client.Gone.Done:
	case <-dead:
		s.client.Gone.Set()
	case sig := <-ends:
		exit = session.EndedBy(sig)
	case <-ctx.Done():
		exit = session.EndedBy(syscall.SIGTERM)
	}
	if exit.Signal != 0 || s.client.Gone.IsSet() {
		s.client.ShortenDeadline()
	}
	s.abandonRequests(last)
	if exit.Signal != 0 {
		return exit
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.anyReady {
		return confine.Exit{}
	}
	return confine.Exit{Code: s.failureStatus}
}

// currentProfile returns the profile of discovery workers.
func (s *statelessSession) currentProfile() *policy.Profile {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.profile
}

// declared returns the tools that the configuration names.
func (s *statelessSession) declared() []string {
	if s.options.Declared == nil {
		return nil
	}
	return s.options.Declared()
}

// goTask starts a task of the session. It is for the goroutine that reads the client,
// which is no task itself. When the session is over it does nothing.
func (s *statelessSession) goTask(task func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.client.Tasks.Go(task)
	}
}

// waitAnswered waits until every request of the client is answered and every answer was
// written.
func (s *statelessSession) waitAnswered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.requests)+s.answering > 0 {
		s.idle.Wait()
	}
}

// abandonRequests answers the open requests with d at the end of the session, or drops them if d
// is nil. It does not wait for a client that does not read; finish does.
func (s *statelessSession) abandonRequests(d *diagnostics.Diagnosis) {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	open := slices.DeleteFunc(s.openRequests(), func(rq *clientRequest) bool { return !s.claim(rq) })
	s.client.Tasks.Go(func() {
		for _, rq := range open {
			if d != nil {
				s.respondClaimed(rq, d.ErrorFrame(rq.id))
			} else {
				s.dropClaimed(rq)
			}
		}
	})
}

// openRequests returns the requests that are not claimed.
func (s *statelessSession) openRequests() (all []*clientRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rq := range s.requests {
		all = append(all, rq)
	}
	return all
}

// allDenials returns the denials of all workers, and the rules that would grant them, for
// the record.
func (s *statelessSession) allDenials() ([]policy.Denial, []diagnostics.Hint) {
	s.mu.Lock()
	all, remedies := s.pastDenials[:len(s.pastDenials):len(s.pastDenials)], s.pastRemedies[:len(s.pastRemedies):len(s.pastRemedies)]
	children := slices.Collect(maps.Keys(s.workers))
	s.mu.Unlock()
	for _, w := range children { // without mu: a jail may take a while to answer
		denials, more := w.server.RecordedDenials()
		all, remedies = append(all, denials...), appendHints(remedies, more)
	}
	return all, remedies
}

// countRefused returns how many different refusals all workers had.
func (s *statelessSession) countRefused() int {
	s.mu.Lock()
	n, children := len(s.pastDenials), slices.Collect(maps.Keys(s.workers))
	s.mu.Unlock()
	for _, w := range children { // as in allDenials
		n += len(w.server.Processes.Denials())
	}
	return n
}

// removeWorker removes a worker that has ended, and keeps its denials.
func (s *statelessSession) removeWorker(w *worker) {
	denials, remedies := w.server.RecordedDenials()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.workers, w)
	s.pastDenials, s.pastRemedies = append(s.pastDenials, denials...), appendHints(s.pastRemedies, remedies)
	if n := len(s.pastDenials) - session.MaxDenials; n > 0 {
		s.pastDenials = append(s.pastDenials[:0:0], s.pastDenials[n:]...)
	}
}

// appendHints appends the hints that are new. Workers of one tool often yield the same hints.
func appendHints(hints, more []diagnostics.Hint) []diagnostics.Hint {
	for _, h := range more {
		same := func(o diagnostics.Hint) bool { return o.Target == h.Target && slices.Equal(o.Grant, h.Grant) }
		if len(hints) < session.MaxRecords && !slices.ContainsFunc(hints, same) {
			hints = append(hints, h)
		}
	}
	return hints
}
