package confine

import (
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/winjail"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Process is a program in its job.
type Process struct {
	plan    *Plan
	started *winjail.Process
	done    chan struct{}
	exit    Exit // once done is closed
}

// killedCode is the exit status of a program that was ended, as on other systems.
const killedCode = 128 + 9

// wait records the end of the program. What it has left ends with the job.
func (p *Process) wait() {
	code, err := p.started.Wait()
	p.exit.Code = code
	if err != nil {
		p.exit = Exit{Code: killedCode, Why: "Windows does not tell how the program ended: " + err.Error()}
	}
	jail.RemoveTree(p.plan.Spec.TempDir)
	close(p.done)
}

// Plan returns the plan with which the process was started.
func (p *Process) Plan() *Plan { return p.plan }

// Kill ends every process of the jail at once.
func (p *Process) Kill() error { return p.started.Kill(killedCode) }

// Done returns a channel that is closed when the program has ended, and Windows was told to end every
// other process of the jail.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns how the program ended, once that is so.
func (p *Process) Wait() (Exit, error) {
	<-p.done
	return p.exit, nil
}

// HostFailures returns nil: connections do not pass through mcp-jail here.
func (*Process) HostFailures() []policy.HostFailure { return nil }

// OnNotice does nothing: there are no notices.
func (*Process) OnNotice(func(Notice)) {}

// PID returns the process ID of the program.
func (p *Process) PID() int { return p.started.PID() }

// Signal ends the whole jail: Windows has no signals. A session closes the server's standard input first.
func (p *Process) Signal(os.Signal) error { return p.Kill() }

// Denials returns nil: nothing on Windows tells what was refused.
func (*Process) Denials() []policy.Denial { return nil }

// Unanswered returns nil: the server has no loopback of its own.
func (*Process) Unanswered(time.Time) []policy.Unanswered { return nil }

// Listening knows nothing: the server has no network of its own.
func (*Process) Listening() (ports []int, known bool) { return nil, false }

// KeepCall does nothing: no file is kept here before the server changes it.
func (*Process) KeepCall(bool) error { return nil }

// Secrets returns nil: there are no secrets without an interceptor.
func (*Process) Secrets() map[string]string { return nil }
