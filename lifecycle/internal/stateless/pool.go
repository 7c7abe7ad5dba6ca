package stateless

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/answers"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// pool has the workers of a session. It offers some of them to requests that come: a discovery worker
// for each era, and warm workers. A worker that is not offered, or no longer, ends when nothing uses it.
type pool struct {
	session     *statelessSession
	client      *session.Client
	maxStarting int           // warm workers that are started at once, so that calls come first
	ending      chan struct{} // a place for each worker that has served its request and is ending

	mu            sync.Mutex
	workers       map[*worker]bool // that have a process
	offers        []*worker
	warmTools     []*warmTool // the tool called last comes first
	startingCalls int         // calls whose worker is being started
	demands       []*demand
	anyReady      bool            // a worker has become ready
	failureStatus int             // exit status if no worker becomes ready
	logLevel      []byte          // params of the last logging/setLevel
	pastDenials   []policy.Denial // of workers that are gone
	doubtful      map[string]bool // tools: see noteOutcome
}

// newWorker returns a worker that is not started. The caller uses it.
func (p *pool) newWorker(tool string, info *answers.ClientInfo) *worker {
	return &worker{session: p.session, client: p.client, tool: tool, info: info, uses: 1, started: make(chan struct{}), requests: map[string]*clientRequest{}, waiters: map[string]chan reply{}, ended: make(chan struct{})}
}

// startOffered starts a worker that is offered already.
func (p *pool) startOffered(ctx context.Context, w *worker, t Tool, d *diagnostics.Diagnosis) {
	w.start(ctx, t, d)
	if w.failure != nil {
		p.withdrawOne(w)
	}
	p.release(w)
}

func (p *pool) withdrawOne(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.withdraw(func(other *worker) bool { return other == w })
}

// release gives a worker back.
func (p *pool) release(w *worker) {
	p.mu.Lock()
	w.uses--
	w.lastUsed = time.Now()
	ends := w.uses == 0 && w.failure == nil && !slices.Contains(p.offers, w)
	p.mu.Unlock()
	if ends {
		p.ending <- struct{}{} // at most as many workers end at a time as calls may run
		p.client.Tasks.Go(func() {
			w.stop()
			<-p.ending
		})
	}
}

// withdraw offers some workers no longer. The caller holds mu.
func (p *pool) withdraw(useless func(*worker) bool) {
	p.offers = slices.DeleteFunc(p.offers, func(w *worker) bool {
		if !useless(w) {
			return false
		}
		if w.uses == 0 {
			p.client.Tasks.Go(w.stop)
		}
		return true
	})
}

// withdrawEra offers no discovery worker of an era any more.
func (p *pool) withdrawEra(era mcpproxy.Era) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.withdraw(func(w *worker) bool { return w.tool == "" && w.info.Era() == era })
}

// withdrawOld offers no discovery worker under another profile any more. Of one that is being started the profile
// is not known yet.
func (p *pool) withdrawOld(now *policy.Profile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.withdraw(func(w *worker) bool {
		return w.tool == "" && (!w.isStarted() || w.failure == nil && w.server.Profile.Key() != now.Key())
	})
}

// stopOffered ends the workers that no request uses, at the end of the session.
func (p *pool) stopOffered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.withdraw(func(*worker) bool { return true })
}

// discoveryWorker returns the discovery worker for a client, which the caller uses then. It has one started
// if there is none. The start is not the caller's: others may wait for it.
func (p *pool) discoveryWorker(info *answers.ClientInfo) (found *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.withdraw(func(w *worker) bool {
		switch {
		case w.tool != "" || w.info.Era() != info.Era():
			return false
		case w.isGone(), info.Era() == mcpproxy.Legacy && !w.info.Matches(info): // in the modern era each request describes its client
			return true
		}
		found = w
		return false
	})
	if found == nil {
		w := p.newWorker("", info)
		p.offers = append(p.offers, w)
		p.client.Tasks.Go(func() {
			t, d := p.session.resolveTool("")
			p.startOffered(p.session.working, w, t, d)
		})
		found = w
	}
	found.uses++
	return found
}

// callWorker returns a worker for a call, which the caller uses then.
func (p *pool) callWorker(ctx context.Context, rq *clientRequest, warm bool) (*worker, *diagnostics.Diagnosis) {
	if rq.tool == "" { // "" is the discovery worker, with its own policy
		d := p.client.Announce(session.Refusal(-32602, diagnostics.PagePerCall, p.session.serverName, "",
			"a call of a tool without a name", "have the client name the tool"))
		return nil, &d
	}
	p.session.discovery.refresh(rq.listRequest().Logs)
	if d := p.client.SwitchedOff(rq.tool); d != nil {
		return nil, d
	}
	if d := p.session.discovery.refuseUnlisted(ctx, rq); d != nil {
		return nil, d
	}
	w := p.newWorker(rq.tool, rq.info)
	w.server.CertainReads = p.isDoubtful(rq.tool)
	if warm && !w.server.CertainReads { // no warm worker records refused reads
		if ready := p.takeWarm(rq.tool, rq.info); ready != nil {
			return ready, nil
		}
	}
	t, d := p.session.resolveTool(rq.tool)
	if d != nil {
		return nil, d
	}
	defer p.beginCall(t.Profile, time.Now())()
	w.start(ctx, t, nil)
	return w, w.failure
}

// noteOutcome notes how a call of a tool ended: sure is how sure the diagnosis of its failure is, or
// "". After a failure whose cause is only possible, the next process for a call of the tool is started
// so that its jail records refused reads, until such a process was of use: the call went well, or the
// cause is no longer only possible.
func (p *pool) noteOutcome(w *worker, sure diagnostics.Attribution) {
	doubt := sure == diagnostics.Possible
	if w.tool == "" || !doubt && !w.server.CertainReads || doubt && !canBeCertain(w) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if doubt {
		p.doubtful[w.tool] = true
	} else {
		delete(p.doubtful, w.tool)
	}
}

// canBeCertain reports whether the jail of another worker can record refused reads.
func canBeCertain(w *worker) bool {
	plan := w.proc.Plan()
	return plan == nil || plan.CanWatch()
}

func (p *pool) isDoubtful(tool string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.doubtful[tool]
}

// markReady makes a worker get what the client sends to all workers.
func (p *pool) markReady(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.anyReady, w.ready = true, true
}

func (p *pool) readyWorkers() (all []*worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.workers {
		if w.ready {
			all = append(all, w)
		}
	}
	return all
}

func (p *pool) allDenials() []policy.Denial {
	p.mu.Lock()
	all := p.pastDenials[:len(p.pastDenials):len(p.pastDenials)]
	children := slices.Collect(maps.Keys(p.workers))
	p.mu.Unlock()
	for _, w := range children { // without mu: a jail may take a while to answer
		all = append(all, w.server.RecordedDenials()...)
	}
	return all
}

func (p *pool) countRefused() int {
	p.mu.Lock()
	n, children := len(p.pastDenials), slices.Collect(maps.Keys(p.workers))
	p.mu.Unlock()
	for _, w := range children { // as in allDenials
		n += len(w.server.Processes.Denials())
	}
	return n
}

func (p *pool) removeWorker(w *worker) {
	denials := w.server.RecordedDenials() // before mu: a jail may take a while to answer
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.workers, w)
	p.pastDenials = append(p.pastDenials, denials...)
	if n := len(p.pastDenials) - session.MaxDenials; n > 0 {
		p.pastDenials = append(p.pastDenials[:0:0], p.pastDenials[n:]...)
	}
}

func (p *pool) exitStatus() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.anyReady {
		return 0
	}
	return p.failureStatus
}

const (
	// preparedFor is how long jails are kept prepared after the last call that needed one.
	preparedFor = time.Minute
	// prepareAfter is how long no call must have needed a jail before others are prepared: these would take
	// the processors from calls that are under way.
	prepareAfter = 30 * time.Millisecond
	// maxDemands bounds the profiles that are compared for each call.
	maxDemands = 8
)

// demand is how many calls with the same jail have waited for it at once. As many jails are kept prepared.
type demand struct {
	profile       *policy.Profile // of the last call
	waiting, most int
	last          time.Time
}

// beginCall notes that a call waits for its process, until the call of end. Meanwhile the pool starts no
// warm workers.
func (p *pool) beginCall(profile *policy.Profile, now time.Time) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := &demand{}
	if i := slices.IndexFunc(p.demands, func(d *demand) bool { return d.profile.SameJail(profile) }); i >= 0 {
		d = p.demands[i]
	}
	// The tool may have had another profile until now.
	p.demands = slices.DeleteFunc(p.demands, func(o *demand) bool { return o == d || o.profile.Tool == profile.Tool })
	p.demands = slices.Insert(p.demands, 0, d) // the one of the last call comes first
	p.demands = p.demands[:min(len(p.demands), maxDemands)]
	d.waiting++
	p.startingCalls++
	d.profile, d.most, d.last = profile, max(d.most, d.waiting), now
	return func() {
		p.mu.Lock()
		d.waiting--
		p.startingCalls--
		p.mu.Unlock()
		p.session.wake()
	}
}

// prepare has jails prepared for the next calls, when none needs one for a while.
func (p *pool) prepare(now time.Time) {
	if p.session.options.Prepare == nil {
		return
	}
	p.mu.Lock()
	if p.startingCalls > 0 {
		p.mu.Unlock()
		return
	}
	soon := len(p.demands) > 0 && now.Sub(p.demands[0].last) < prepareAfter
	profiles := p.wanted(now)
	p.mu.Unlock()
	if soon {
		time.AfterFunc(prepareAfter, p.session.wake)
	} else {
		p.session.options.Prepare(profiles)
	}
}

// wanted returns a profile for each jail to prepare. The caller holds mu.
func (p *pool) wanted(now time.Time) (profiles []*policy.Profile) {
	p.demands = slices.DeleteFunc(p.demands, func(d *demand) bool { return now.Sub(d.last) > preparedFor })
	for _, d := range p.demands {
		for range min(d.most, p.session.options.MaxCalls-len(profiles)) {
			profiles = append(profiles, d.profile)
		}
	}
	return profiles
}
