package winproof

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/windows"

	"github.com/mcp-jail/mcp-jail/confine/internal/selftest"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/winjail"
)

// patience is how long an attempt may take, and how long a process may take to end after its job has.
const patience = 10 * time.Second

// Prove makes all probes. It takes some dozen starts of the running program.
func Prove(ctx context.Context) (selftest.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return selftest.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*patience)
	defer cancel()
	r := runner{ctx: ctx, self: self}
	without := r.findDesktop()
	table := Table()
	rows := make([]selftest.Row, len(table))
	var all sync.WaitGroup
	for i, p := range table {
		all.Go(func() { rows[i] = p.judge(r.both(p)) })
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return selftest.Result{}, err
	}
	return result(rows, without)
}

type runner struct {
	ctx     context.Context
	self    string
	desktop bool // jobs have no limits of the desktop
}

// findDesktop finds out whether a job can have limits of the desktop. Inside another job it cannot.
func (r *runner) findDesktop() (without []string) {
	if r.inside(Probe{Do: doNothing}, "", nil) == works {
		return nil
	}
	r.desktop = true
	if r.inside(Probe{Do: doNothing}, "", nil) == works {
		return []string{winjail.StepDesktop}
	}
	r.desktop = false
	return nil
}

// both returns the outcomes of an attempt inside and outside of a jail.
func (r *runner) both(p Probe) (got, control string) {
	if p.Do == doHandle {
		return r.handle(p)
	}
	got = r.inside(p, insideJail, nil)
	if p.Control != "" {
		control = r.outside(p)
	}
	return got, control
}

// handle makes the attempt with a handle that a process inherits if nothing prevents it. The control is a
// jail that passes it on.
func (r *runner) handle(p Probe) (got, control string) {
	read, write, err := os.Pipe()
	if err != nil {
		return err.Error(), ""
	}
	defer read.Close()
	defer write.Close()
	self := windows.CurrentProcess()
	var h windows.Handle
	if err := windows.DuplicateHandle(self, windows.Handle(write.Fd()), self, &h, 0, true, windows.DUPLICATE_SAME_ACCESS); err != nil {
		return err.Error(), ""
	}
	defer windows.CloseHandle(h)
	number := strconv.FormatUint(uint64(h), 10)
	return r.inside(p, number, nil), r.inside(p, number, []windows.Handle{h})
}

// An attempt's pipes: it writes to out, and reads what comes from in.
type pipes struct{ in, out, childIn, childOut *os.File }

func newPipes() (p pipes, err error) {
	if p.childIn, p.in, err = os.Pipe(); err != nil {
		return p, err
	}
	if p.out, p.childOut, err = os.Pipe(); err != nil {
		p.childIn.Close()
		p.in.Close()
	}
	return p, err
}

func (p pipes) close() {
	for _, f := range []*os.File{p.in, p.out, p.childIn, p.childOut} {
		f.Close()
	}
}

func (r *runner) inside(p Probe, argument string, extra []windows.Handle) string {
	io, err := newPipes()
	if err != nil {
		return err.Error()
	}
	defer io.close()
	in := p.In
	in.Desktop = r.desktop
	process, err := winjail.Start(winjail.Command{
		Program: r.self, Argv: []string{name, p.Do, argument}, Env: os.Environ(), Extra: extra,
		Stdio: [3]*os.File{io.childIn, io.childOut, nil},
	}, in)
	if err != nil {
		var e *step.Error
		if errors.As(err, &e) && e.Step == step.Exec && p.Want == refused {
			return "not started" // which is no refusal of the attempt
		}
		return err.Error()
	}
	defer process.Release()
	defer process.Kill(1)
	return r.answer(io, p.outlives(), process.CloseJob)
}

// outside makes the attempt by a process without a jail. Its standard input ends with this process, and
// then it ends.
func (r *runner) outside(p Probe) string {
	io, err := newPipes()
	if err != nil {
		return err.Error()
	}
	defer io.close()
	process, err := os.StartProcess(r.self, []string{name, p.Do}, &os.ProcAttr{Files: []*os.File{io.childIn, io.childOut, nil}, Env: os.Environ(), Sys: &syscall.SysProcAttr{HideWindow: true}})
	if err != nil {
		return err.Error()
	}
	defer process.Wait()
	if p.outlives() {
		return r.answer(io, true, func() {
			process.Kill()
			io.in.Write([]byte(works + "\n"))
		})
	}
	defer process.Kill()
	return r.answer(io, false, nil)
}

// insideJail is the argument of an attempt in a jail.
const insideJail = "in a jail"

// outlives reports whether the attempt starts a process that goes on, and ends before it.
func (p Probe) outlives() bool { return p.Do == doOutlive || p.Do == doNested }

// answer reads the outcome of an attempt. After the line of a process that outlives its parent, it calls
// end, and reads whether the process is still there.
func (r *runner) answer(io pipes, outlives bool, end func()) string {
	io.childIn.Close()
	io.childOut.Close()
	lines := make(chan string)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(io.out); in.Scan(); {
			select {
			case lines <- strings.TrimSpace(in.Text()):
			case <-stop:
				return
			}
		}
	}()
	first, ok := r.line(lines)
	switch {
	case !ok:
		return "no answer"
	case !outlives || first != goesOn:
		return first
	}
	end()
	select {
	case _, ok := <-lines:
		if !ok {
			return ended
		}
	case <-r.ctx.Done():
	case <-time.After(patience):
	}
	return goesOn
}

func (r *runner) line(lines <-chan string) (string, bool) {
	select {
	case l, ok := <-lines:
		return l, ok
	case <-r.ctx.Done():
	case <-time.After(patience):
	}
	return "", false
}
