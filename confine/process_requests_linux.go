//go:build !seatbelt

package confine

import (
	"os"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// answerTimeout is how long KeepOpen and ObserveAfresh wait, so that a filesystem that hangs stops
// no relay.
const answerTimeout = 5 * time.Second

// requests counts the requests of one kind to the supervisor, and its answers.
type requests struct {
	mu      sync.Mutex
	answers chan struct{}
	open    int // requests without an answer: one at most
}

func newRequests() requests { return requests{answers: make(chan struct{}, 64)} }

func (k *requests) answered() {
	select {
	case k.answers <- struct{}{}:
	default: // ask has stopped waiting
	}
}

// ask sends a request and waits for its answer.
func (k *requests) ask(p *Process, request byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.open > 0 { // an earlier one came too late: while it has no answer, a filesystem hangs
		select {
		case <-k.answers:
			k.open--
		default:
			return os.ErrDeadlineExceeded
		}
	}
	if _, err := p.control.Write([]byte{request}); err != nil {
		return err
	}
	late := time.NewTimer(answerTimeout)
	defer late.Stop()
	k.open++
	select {
	case <-k.answers:
		k.open--
		return nil
	case <-p.done:
		return os.ErrProcessDone
	case <-late.C:
		return os.ErrDeadlineExceeded
	}
}

// KeepOpen has the supervisor keep the files again that the program has open for writing, and waits
// for it. The caller has written the beginning of the call to the journal of Launcher.Kept. The error is
// os.ErrDeadlineExceeded if the supervisor takes too long.
func (p *Process) KeepOpen() error { return p.keeping.ask(p, spec.RequestKeep) }

// ObserveAfresh has everything observed again that the program does from now on, also what was
// reported before: a new call begins. When it returns, the observations of before are reported, with
// their counts. It does nothing if Launcher.Observe was nil.
func (p *Process) ObserveAfresh() error {
	if p.observe == nil {
		return nil
	}
	return p.watching.ask(p, spec.RequestAfresh)
}

// reportObservation passes an observation of the supervisor to Launcher.Observe.
func (p *Process) reportObservation(m spec.Event) {
	if p.observe == nil {
		return
	}
	o := policy.Observation{
		Axis: policy.Axis(m.Step), Operation: m.Detail, Target: m.Target, Absent: m.Seen&spec.SeenAbsent != 0, Dir: m.Seen&spec.SeenDir != 0,
		Refused: m.Seen&spec.SeenRefused != 0, Program: m.Program, PID: m.Pid, Count: m.Num, Time: time.Now(),
	}
	o.Arguments, _ = spec.SplitArguments(m.Arguments)
	if o.Refused && o.Absent && m.Target != policy.DenialOthers {
		// The jail lacks the name. If the host has what the call needs, the jail is the reason.
		known := withTimeout(func() bool {
			_, err := os.Stat(m.Target)
			o.Refused, o.Absent = onHost(m), err != nil
			return true
		})
		if !known {
			o.Refused, o.Absent = false, true
		}
	}
	o.Discarded = !o.Refused && writes(m.Detail) && p.discards(m.Target)
	p.observing.Lock()
	defer p.observing.Unlock()
	p.observe(o)
}

func writes(operation string) bool {
	switch operation {
	case policy.OpWrite.String(), policy.OpTruncate.String(), policy.OpCreate.String(), policy.OpMkdir.String(), policy.OpRemove.String():
		return true
	}
	return false
}

// discards reports whether what the server writes to a path is a copy that ends with its process.
func (p *Process) discards(target string) bool {
	if own := p.plan.Spec.Home; own != "" && policy.Within(target, own) {
		return true
	}
	e, ok := p.plan.Profile.Find(target)
	return ok && e.Ephemeral
}
