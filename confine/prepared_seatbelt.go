//go:build darwin || (linux && seatbelt)

package confine

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/dirs"
	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/reported"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"golang.org/x/sys/unix"
)

// Prepared is the supervisor process of a jail whose server is not started yet, and the launcher's
// state for that start. The process waits for a plan. If it is started ahead, it starts while the
// caller resolves the profile.
type Prepared struct {
	process  *Process
	umask    *int   // the program's; nil: that of this process
	path     string // the program of the supervisor, and of the first program inside
	requests chan startRequest
	started  chan error
	mu       sync.Mutex
	taken    bool
}

// startRequest is a plan for the goroutine of run.
type startRequest struct {
	plan       *plan.Plan
	stdio      jail.Stdio
	beforeExec func() error // nil: there is none
}

// Prepare starts a supervisor process ahead of the Start that will use it: see
// Launcher.Prepared. It returns no error; Start reports what went wrong.
func (l Launcher) Prepare() *Prepared { return l.spawn() }

func (l Launcher) claim(bool) *Prepared {
	if l.Prepared.claim() {
		return l.Prepared
	}
	return l.spawn()
}

// Close ends a supervisor process that no Start has used. It may be called at any time, also on
// nil.
func (p *Prepared) Close() {
	if p.claim() {
		p.cancel()
	}
}

func (p *Prepared) cancel() {
	close(p.requests)
	<-p.process.done
}

// claim reports whether the caller is the first to use p.
func (p *Prepared) claim() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.taken
	p.taken = true
	return first
}

func (l Launcher) spawn() *Prepared {
	p := &Prepared{
		process: &Process{done: make(chan struct{})},
		umask:   l.Umask, path: l.SupervisorPath, requests: make(chan startRequest, 1), started: make(chan error, 1),
	}
	p.process.ended = make(chan struct{})
	go p.run()
	return p
}

// run owns the supervisor process from start to end.
func (p *Prepared) run() {
	process := p.process
	defer close(process.done)
	events, err := p.fork()
	if err != nil {
		if _, used := <-p.requests; used {
			p.started <- err
		}
		return
	}
	request, used := <-p.requests
	if used {
		err = p.carryOut(request, events)
	}
	process.mu.Lock()
	process.control.Close()
	process.control = nil
	process.mu.Unlock()
	process.supervisor.Wait()
	runtime.KeepAlive(request.stdio) // until then the caller may rely on its files, also if it has no other name for them
	events.Close()
	close(process.ended)
	process.cleanUp()
	if err != nil {
		p.started <- err
	}
}

// fork starts the supervisor process. It returns the pipe of its events.
func (p *Prepared) fork() (events *os.File, err error) {
	failed := func(name string, err error) (*os.File, error) {
		return nil, &step.Error{Step: name, Errno: step.Errno(err), Detail: err.Error()}
	}
	if p.path == "" {
		if p.path, err = os.Executable(); err != nil {
			return failed("init", err)
		}
	}
	// The profile names the program, and the policy is asked about it: both by its real path.
	real, _, err := hostfs.ResolveLinks(p.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, &step.Error{Step: "init", Errno: syscall.ENOENT, Detail: p.path}
	case err != nil:
		return failed("init", err)
	}
	p.path = real
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return failed("descriptors", err)
	}
	defer null.Close()
	control, theirs, err := connected()
	if err != nil {
		return failed("descriptors", err)
	}
	defer theirs.Close()
	events, writes, err := os.Pipe()
	if err != nil {
		control.Close()
		return failed("descriptors", err)
	}
	defer writes.Close()
	supervisor, err := os.StartProcess(p.path, []string{spec.SupervisorName}, &os.ProcAttr{
		Files: []*os.File{null, null, null, theirs, writes},
		Env:   append([]string{"GOMAXPROCS=" + strconv.Itoa(spec.MaxProcs)}, fakeVariables()...),
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		control.Close()
		events.Close()
		return failed("init", err)
	}
	process := p.process
	process.mu.Lock()
	defer process.mu.Unlock()
	process.supervisor, process.control = supervisor, control
	if process.killed { // Kill was called before there was a process
		process.endSupervisor()
	}
	return events, nil
}

// connected returns the two ends of a socket that no other program inherits.
func connected() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(pair[0])
		unix.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(pair[0]), "socket of a supervisor process"), os.NewFile(uintptr(pair[1]), "socket of a launcher"), nil
}

// start hands the plan to the goroutine of run, and waits until the program was executed or a step
// failed.
func (p *Prepared) start(ctx context.Context, plan *plan.Plan, stdio Stdio, l Launcher) (*Process, error) {
	made, err := dirs.Make(plan.Profile)
	if err != nil {
		p.cancel()
		return nil, err
	}
	// It adds the certificate of its authority to the spec of a copy: the plan stays as it is.
	own := *plan
	interceptor, err := gateway.StartTLS(ctx, plan, &own.Spec)
	if err != nil {
		p.cancel()
		dirs.Remove(made)
		return nil, err
	}
	plan = &own
	p.process.plan, p.process.interceptor = plan, interceptor
	request := startRequest{plan: plan, stdio: stdio}
	if l.BeforeExec != nil {
		request.beforeExec = func() error { return l.BeforeExec(ctx) }
	}
	p.requests <- request
	came, err := reported.Await(ctx, p.started)
	if !came {
		p.process.Kill()
		<-p.process.done
		err = cancelled(ctx, p.process.why)
	}
	if err == nil {
		return p.process, nil
	}
	// Only now no process can be in one of the directories.
	<-p.process.done
	if interceptor != nil {
		interceptor.End()
	}
	dirs.Remove(made)
	return nil, err
}

// cancelled returns the error of a start whose context ended. why is what the supervisor said, or "".
func cancelled(ctx context.Context, why string) error {
	if ctx.Err() != context.DeadlineExceeded {
		return ctx.Err()
	}
	e := late(ctx)
	if why != "" {
		e.Detail += ": " + why
	}
	return e
}
