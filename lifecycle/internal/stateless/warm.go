package stateless

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/clientinfo"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/demand"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// pool has the workers. Some of them are warm. A warm worker was started before there was a call for
// it, under the policy of its tool. It is past the client's handshake and gets one call. The tools
// that were called last have precedence. There are at most as many warm workers as calls may run at
// once. Those that are being started count.
type pool struct {
	session       *statelessSession
	client        *session.Client
	startingCalls atomic.Int32 // calls whose worker is being started
	prepared      demand.Demand

	mu            sync.Mutex
	workers       map[*worker]bool
	anyReady      bool            // a worker has become ready
	failureStatus int             // exit status if no worker becomes ready
	logLevel      []byte          // params of the last logging/setLevel
	pastDenials   []policy.Denial // of workers that are gone
	doubtful      map[string]bool // tools: see noteOutcome

	// Of warm workers, also under mu:
	ready       []*worker
	tools       map[string]*warmTool
	order       []string // the tools; the one called last comes first
	starting    int      // warm workers that are being started, of all tools
	maxStarting int      // bounds starting, so that calls come first
	closed      bool     // no worker is added any more
}

// warmTool is the state of one tool in the pool.
type warmTool struct {
	starting int
	failures int       // in a row
	notUntil time.Time // after a failure
	used     time.Time
	resolved Tool // by the last call, for the next worker
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

func (p *pool) registerTools(tools []string) {
	p.mu.Lock()
	for _, name := range tools {
		if p.tools[name] == nil && p.session.options.Warm != nil && p.session.options.Warm(name) > 0 {
			p.tools[name] = &warmTool{used: time.Now()}
			p.order = append(p.order, name)
		}
	}
	p.mu.Unlock()
	p.session.wake()
}

func (p *pool) touchTool(tool string) {
	p.mu.Lock()
	if t := p.tools[tool]; t != nil {
		t.used = time.Now()
		i := slices.Index(p.order, tool)
		p.order = slices.Insert(slices.Delete(p.order, i, i+1), 0, tool)
	}
	p.mu.Unlock()
	p.session.wake()
}

// takeWarm takes a warm worker for a call, or returns nil. The worker must be alive,
// past the same handshake, and jailed under the profile that the policy resolves to
// now: files that must be hidden may have appeared since. What hides them must be mounted as when the worker
// was started. takeWarm kills workers of which that is not so.
func (p *pool) takeWarm(tool string, info *clientinfo.Info, now Tool) *worker {
	for {
		w := p.takeReady(tool, info, now)
		if w == nil || w.hasItsMounts() {
			return w
		}
		p.client.Tasks.Go(w.kill)
	}
}

// takeReady removes a warm worker from the pool, and kills workers under an older profile.
func (p *pool) takeReady(tool string, info *clientinfo.Info, now Tool) (found *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready = slices.DeleteFunc(p.ready, func(w *worker) bool {
		if found != nil || w.tool != tool || !w.info.Matches(info) || session.IsClosed(w.proc.Done()) {
			return false
		}
		if w.server.Profile != now.Profile && w.server.Profile.Key() != now.Profile.Key() {
			// Later calls resolve to the new profile, too.
			p.client.Tasks.Go(w.kill)
			return true
		}
		found = w
		return true
	})
	if t := p.tools[tool]; t != nil {
		t.resolved = now
	}
	return found
}

// lastResolved returns what the last call of a tool resolved, once and soon, so that the host is not
// asked twice for each call. If the host changes meanwhile, takeWarm gives the worker to no call.
func (p *pool) lastResolved(tool string) (last Tool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tools[tool]
	if time.Since(t.used) < p.client.Times.Fresh {
		last = t.resolved
	}
	t.resolved = Tool{}
	return last
}

// forgetResolved has the next workers started under what their tools resolve to then.
func (p *pool) forgetResolved() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.tools {
		t.resolved = Tool{}
	}
}

func (p *pool) refillPool(ctx context.Context, now time.Time) {
	if p.startingCalls.Load() > 0 { // calls that wait for a worker come first
		return
	}
	p.keepPrepared(now)
	if p.session.options.Warm == nil {
		return
	}
	useless, wanted := p.plan(now, p.session.options.MaxCalls, p.client.Times.WarmIdle, p.session.options.Warm, func(w *worker) bool {
		return w.info.Matches(p.session.discovery.infos.For(w.info.Era()))
	})
	for _, w := range useless {
		p.client.Tasks.Go(w.kill)
	}
	for _, tool := range wanted {
		p.client.Tasks.Go(func() { p.startWarm(ctx, tool) })
	}
}

// keepPrepared has jails prepared for the next calls.
func (p *pool) keepPrepared(now time.Time) {
	if p.session.options.Prepare == nil {
		return
	}
	if profiles, ok := p.prepared.Wanted(now, p.session.options.MaxCalls); ok {
		p.session.options.Prepare(profiles)
	} else {
		time.AfterFunc(demand.After, p.session.wake)
	}
}

// plan removes the workers that are of no use, and names the tools to start workers for.
// It counts these as being started.
func (p *pool) plan(now time.Time, most int, idle time.Duration, warm func(string) int, fits func(*worker) bool) (useless []*worker, wanted []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil
	}
	room, left := map[string]int{}, most
	// The tools called last get room first; each may fill what is left.
	for _, tool := range p.order {
		if t := p.tools[tool]; left > 0 && now.Sub(t.used) < idle {
			room[tool] = min(warm(tool), left)
			left -= room[tool]
		}
	}
	// A worker that lives takes a place of its tool. What is then left of room is missing.
	p.ready = slices.DeleteFunc(p.ready, func(w *worker) bool {
		if room[w.tool] > 0 && fits(w) && !session.IsClosed(w.proc.Done()) {
			room[w.tool]--
			return false
		}
		useless = append(useless, w)
		return true
	})
	for _, tool := range p.order {
		t := p.tools[tool]
		for range room[tool] - t.starting {
			if p.starting >= p.maxStarting || len(p.ready)+p.starting >= most || now.Before(t.notUntil) {
				break
			}
			p.starting++
			t.starting++
			wanted = append(wanted, tool)
		}
	}
	return useless, wanted
}

// startWarm starts a warm worker and adds it to the pool. Its failure is not announced:
// the next call starts a worker itself and gets the reason.
func (p *pool) startWarm(ctx context.Context, tool string) {
	w := p.newWarmWorker(ctx, tool)
	p.mu.Lock()
	t := p.tools[tool]
	p.starting--
	t.starting--
	var old []*worker
	switch {
	case w == nil:
		t.failures++
		// From 2 s to 64 s, so that a tool that cannot start costs little.
		t.notUntil = time.Now().Add(time.Second << min(t.failures, 6))
	case p.closed:
		old = append(old, w)
	default:
		t.failures = 0
		// The policy may resolve to another profile than when the others started.
		p.ready = slices.DeleteFunc(p.ready, func(other *worker) bool {
			if other.tool == tool && other.server.Profile.Key() != w.server.Profile.Key() {
				old = append(old, other)
				return true
			}
			return false
		})
		p.ready = append(p.ready, w)
	}
	p.mu.Unlock()
	for _, w := range old {
		w.kill()
	}
	p.session.wake()
}

func (p *pool) newWarmWorker(ctx context.Context, tool string) *worker {
	info := p.session.discovery.infos.Latest()
	t, err := p.lastResolved(tool), error(nil)
	if t.Profile == nil {
		t, err = p.session.toolNow(tool)
	}
	if err != nil || info == nil {
		return nil
	}
	w, d := p.startWorker(ctx, tool, t, info, startOptions{warm: true})
	if d != nil {
		return nil
	}
	// A mask may have gone between the building of the jail and this look: later looks would find no change.
	var whole bool
	if w.mounts, whole = w.proc.Mounts(); !whole {
		w.kill()
		return nil
	}
	if _, d = w.handshake(ctx); d == nil && info.Era() == mcpproxy.Modern {
		// The modern era has no handshake. An answer shows that the program is loaded.
		f := info.Greeting()
		w.server.Roots.Advertise(f, &f.Messages[0])
		_, err = w.request(ctx, f, w.server.Profile.Startup)
	}
	if d != nil || err != nil {
		w.kill()
		return nil
	}
	return w
}

func (p *pool) stopPool() {
	p.mu.Lock()
	p.closed = true
	for _, w := range p.ready {
		p.client.Tasks.Go(w.kill)
	}
	p.ready = nil
	p.mu.Unlock()
}
