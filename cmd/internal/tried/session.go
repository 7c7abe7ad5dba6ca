package tried

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/observed"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/learn"
)

const (
	maxWaiting  = 8192 // observations that are not judged yet
	maxRefusals = 2000 // different ones of a session
	maxJudges   = 32   // profiles for which a judge is kept
)

// Judge has what decides about the processes of one profile: the evidence of a session under the policy
// that is tried.
type Judge struct {
	Evidence diagnostics.Evidence
	Policy   *policy.Policy // what becomes Evidence.Profile on this host
	Tried    *Policy
}

// Side returns the policy that is tried.
func (j *Judge) Side() Side { return Side{j.Policy, j.Evidence.Profile} }

// Session judges what the processes of a session do. It does so beside them, and a process waits for
// nothing.
type Session struct {
	to    *observed.Writer
	ended chan struct{}

	mu     sync.Mutex
	queue  chan event
	closed bool
	lost   int // observations that were not judged

	// Of the goroutine alone:
	judges map[*policy.Profile]*Judge
	counts map[string]*count
}

// count is how often a policy would have refused something.
type count struct {
	refusal    diagnostics.Refusal
	told, next int // next is how many there must be until they are told again
	total      int
}

// event is an observation, or the start of a process if it has no operation.
type event struct {
	by *Process
	o  policy.Observation
}

// Begin begins to judge a session. Refusals are kept in to.
func Begin(to *observed.Writer) *Session {
	s := &Session{
		to: to, queue: make(chan event, maxWaiting), ended: make(chan struct{}),
		judges: map[*policy.Profile]*Judge{}, counts: map[string]*count{},
	}
	go s.run()
	return s
}

// Process is a process that is judged.
type Process struct {
	s    *Session
	of   *policy.Profile
	find func() (*Judge, error)
	tool atomic.Pointer[string]
}

// Process begins to judge a process that has a profile. find returns what judges such processes.
func (s *Session) Process(of *policy.Profile, find func() (*Judge, error)) *Process {
	p := &Process{s: s, of: of, find: find}
	p.CallBegins(of.Tool)
	s.push(event{by: p})
	return p
}

// CallBegins says that what the process does from here on belongs to a call of a tool.
func (p *Process) CallBegins(tool string) { p.tool.Store(&tool) }

// Observe judges what the process did. It is a confine.Launcher.Observe.
func (p *Process) Observe(o policy.Observation) {
	if o.Refused {
		return // by the policy in force
	}
	if o.Tool == "" {
		o.Tool = *p.tool.Load()
	}
	p.s.push(event{p, o})
}

func (s *Session) push(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		select {
		case s.queue <- e:
			return
		default:
		}
	}
	s.lost++
}

func (s *Session) run() {
	defer close(s.ended)
	for e := range s.queue {
		j, known := s.judges[e.by.of]
		if !known {
			j = s.begin(e.by)
		}
		if j != nil && e.o.Operation != "" {
			s.judge(j, e.o)
		}
	}
	for _, c := range s.counts {
		s.pass(c)
	}
}

// begin finds the judge of the processes of a profile. It returns nil if there is none.
func (s *Session) begin(by *Process) *Judge {
	if len(s.judges) >= maxJudges {
		clear(s.judges)
	}
	j, err := by.find()
	if err != nil {
		j = nil
		s.to.Unjudged("the policy cannot be used here: " + show.Line(err.Error()))
	}
	s.judges[by.of] = j
	if j != nil {
		for _, name := range j.withheld(by.of) {
			s.note(j, j.withholds(by.of, name), "env\x00"+by.of.Tool+"\x00"+name, 1)
		}
	}
	return j
}

func (s *Session) judge(j *Judge, o policy.Observation) {
	switch found := learn.Judge(j.Evidence.Profile, o); found.Verdict {
	case learn.Unknown:
		s.to.Unjudged(found.Why)
	case learn.Refused:
		d := found.Denial
		key := strings.Join([]string{d.Tool, string(d.Axis), d.Operation, d.Target, string(d.Reason), strings.Join(d.Arguments, "\x01")}, "\x00")
		s.note(j, func() diagnostics.Diagnosis { return j.refuses(d) }, key, max(o.Count, 1))
	}
}

// note counts what would have been refused. It makes a diagnosis only of what is new.
func (s *Session) note(j *Judge, diagnose func() diagnostics.Diagnosis, key string, n int) {
	c := s.counts[key]
	if c == nil {
		if len(s.counts) >= maxRefusals {
			s.miss(n)
			return
		}
		c = &count{refusal: diagnostics.Refusal{Tried: j.Tried.Name, File: j.Tried.File, Diagnosis: diagnose()}, next: 1}
		s.counts[key] = c
	}
	c.refusal.Time = time.Now()
	if c.total += n; c.total >= c.next {
		c.next = 2 * c.total
		s.pass(c)
	}
}

// pass passes on what was counted since the last time.
func (s *Session) pass(c *count) {
	r := c.refusal
	if r.Count = c.total - c.told; r.Count == 0 {
		return
	}
	c.told = c.total
	if err := s.to.AddRefusal(r); err != nil {
		s.miss(r.Count)
	}
}

func (s *Session) miss(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost += n
}

// Close judges what is left, and closes the file.
func (s *Session) Close() error {
	s.mu.Lock()
	s.closed = true
	close(s.queue)
	s.mu.Unlock()
	<-s.ended
	s.to.Leave(s.lost)
	return s.to.Close()
}
