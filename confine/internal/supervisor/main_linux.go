// Package supervisor is the program of the process that stays with a jail. The supervisor passes
// signals on, mediates calls and samples the limits. In the host's namespaces it reaps as well.
//
// The launcher executes its own program again under the name spec.SupervisorName. Main, which
// each program with a launcher calls first, recognises that name. There are two forms:
//
//   - With namespaces, the outer process of the build executes the supervisor when the jail
//     needs one (runInNamespaces, spec.ArgSupervise). It is the parent of the jail's init. Its
//     mediator answers the server's calls, and it samples the limits. The init reports the
//     server's exit.
//   - In the host's namespaces, there is no init. The supervisor takes the steps of Steps: it
//     restricts itself, checks the restrictions, starts the server and reaps.
//
// The kernel ends a jail with namespaces with its supervisor, and every supervisor ends with its
// launcher (passSignals). The launcher talks to the supervisor over two descriptors. With
// namespaces, spec.SpecFD carries one byte for each signal and each request (spec.RequestSocket and
// the like), and spec.EventsFD is a socket that carries the spec, and events back. In the host's
// namespaces, spec.SpecFD carries the spec and then the signals, and spec.EventsFD is a pipe
// for events. Package confine calls Main. No other package of the product calls this one.
//
// Threads: the main thread is outside the server's Landlock domain and passes signals on.
// In the host's namespaces a second, locked thread takes the steps, is restricted as the
// server, starts the server and reaps. With namespaces the tasks of the stub do that. A further
// thread samples the limits. The mediator has its own. makeThreads starts all of them before the
// server runs. The package has no lock: channels of Process order the threads.
//
// Limits: memory is sampled, so a jail can exceed its limit for a short time unless a cgroup
// enforces it. If the supervisor of a jail in the host's namespaces is killed with SIGKILL, only
// the server's first process dies with it.
package supervisor

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/mediator"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/resident"
)

// Main runs the supervisor of a jail if this process was started as one, and does not return
// then. Otherwise it returns at once. Every program that uses a launcher calls it first in
// main.
func Main() {
	if !IsSupervisor() {
		return
	}
	// run starts the server from another locked thread. That thread restricts itself, and
	// its children inherit the restrictions. The main thread stays outside the server's Landlock
	// domain.
	runtime.LockOSThread()
	if len(os.Args) > 2 && os.Args[2] == spec.ArgSupervise {
		runInNamespaces()
	}
	s := newProcess()
	s.HostNS = true
	s.run(s.Steps())
}

// run takes the steps on a second thread. The main thread starts the other threads meanwhile,
// and then passes signals on.
func (s *Process) run(steps []jail.Step) {
	sys.GoOnNewThread(func() { sys.OffMainThread(func() { s.build(steps) }) })
	s.makeThreads()
	<-s.started
	s.passSignals()
}

// IsSupervisor reports whether this process was started as a supervisor.
func IsSupervisor() bool { return len(os.Args) >= 2 && os.Args[0] == spec.SupervisorName }

func newProcess() *Process {
	unix.CloseOnExec(spec.SpecFD)
	unix.CloseOnExec(spec.EventsFD)
	s := &Process{
		status: eventWriter{os.NewFile(spec.EventsFD, "status")}, started: make(chan struct{}), pidfd: -1, null: -1,
		watch: make(chan struct{}), threadsReady: make(chan struct{}),
	}
	s.Restrictor = jail.Restrictor{Init: &stub.Task{}, Server: &stub.Task{}, Send: s.status.send, End: s.killAll, Umask: startWithUmask()}
	return s
}

// startPoller checks that Go's poller can be set up, and sets the first timers, which do that.
func startPoller() error {
	if err := sys.CheckPoller(); err != nil {
		return err
	}
	resident.Unmap()
	return nil
}

// startWithUmask returns the umask for the server and sets 022 for this process. A stricter
// umask could take the owner's own rights from the directories that the jail is built with.
func startWithUmask() int {
	umask := unix.Umask(0o022)
	if asked, err := strconv.ParseUint(os.Args[1], 8, 9); err == nil {
		umask = int(asked)
	}
	return umask
}

// passSignals passes signals of the launcher on to the server. The end of the socket means
// that the launcher has ended, and ends the jail.
func (s *Process) passSignals() {
	var sig [1]byte
	for {
		n, err := syscall.Read(spec.SpecFD, sig[:])
		switch {
		case err == syscall.EINTR:
		case err != nil || n == 0:
			s.shutDown()
		case sig[0] == spec.RequestSocket:
			jail.PassInbound()
		case sig[0] == spec.RequestBound:
			s.mediator.Bound()
		case sig[0] == spec.RequestBegin || sig[0] == spec.RequestEnd:
			go s.call(sig[0] == spec.RequestEnd) // a filesystem may hang
		default:
			s.signal(syscall.Signal(sig[0]))
		}
	}
}

func (s *Process) call(ends bool) {
	if s.mediator != nil {
		s.mediator.Journal.Call(ends)
	}
	s.Send(spec.Event{Kind: spec.EventKept})
}

// Process is the state of a supervisor process, in both forms.
type Process struct {
	jail.Restrictor
	mediator     *mediator.Mediator // nil if no call is mediated
	status       eventWriter        // to the launcher
	started      chan struct{}      // closed when the server was started, in a jail with host namespaces
	watch        chan struct{}      // closed when the sampler is to start
	threadsReady chan struct{}      // closed when all threads exist
	null         int                // /dev/null, -1 until openNull
	pidfd        int                // of the server
	tempDir      string             // the directory that makeTempDir made
	broker       int                // the socket of the network broker
	kept         []int              // the files of package undo, if Spec.Keep is on
	scopedThread int                // the thread that can signal the jail's processes only, or 0
}

func (s *Process) mediatorOptions() mediator.Options {
	return mediator.Options{
		Spec: s.Spec, WorkerRuleset: s.WorkerRuleset, Umask: s.Umask, Broker: s.broker, Send: s.Send, End: s.End,
		Kept:   s.kept,
		Failed: func(step string, err error) { s.report(jail.WrapStep(step, err)) },
	}
}

// build takes the steps and starts the server. It does not return.
func (s *Process) build(steps []jail.Step) {
	if err := jail.RunSteps(steps); err != nil {
		s.fail(err)
	}
	s.startProgram()
}

// shutDown ends this process when the launcher or the jail has ended. With namespaces it
// reports the remaining counts first. In the host's namespaces it ends the jail.
func (s *Process) shutDown() {
	if !s.HostNS {
		if s.mediator != nil {
			s.mediator.Reporter.Flush()
		}
		unix.Exit(0)
	}
	s.killAll()
}

// eventWriter writes events to the launcher.
type eventWriter struct{ file *os.File }

func (w eventWriter) send(m spec.Event) { w.file.Write(m.Encode()) }

// ready reports whether a write of an event of the sampler would not block. Such an event is
// shorter than PIPE_BUF, so it fits into a pipe that poll(2) calls writable (pipe(7)). A writable
// socket has more room.
func (w eventWriter) ready() bool {
	fds := []unix.PollFd{{Fd: int32(w.file.Fd()), Events: unix.POLLOUT}}
	n, _ := unix.Poll(fds, 0)
	return n > 0
}

// fail reports the step that failed, and ends this process. In the host's namespaces the server has
// not run. With namespaces the server may be running, and the jail ends with this process.
func (s *Process) fail(err error) {
	s.report(err)
	unix.Exit(1)
}

// report sends the launcher the step that failed, and then kills the processes of the server. It
// sends first, because reap ends this process when the server is gone. It sends nothing if the pipe
// is full, so that a launcher that does not read cannot hold up the kill.
func (s *Process) report(err error) {
	e := jail.WrapStep("init", err).(*sys.Error)
	if s.status.ready() {
		s.status.send(spec.Event{Kind: spec.EventFailed, Step: e.Step, Num: int(e.Errno), Detail: e.Detail})
	}
	switch {
	case !s.HostNS:
		killNamespace()
	case s.Spec != nil:
		s.killHostNS()
	}
}

// killNamespace kills every other process of this PID namespace, which this process began. When
// this process ends, the kernel closes the listener before it kills them, so they could run on for a
// moment with calls that fail.
func killNamespace() {
	if unix.Getpid() == 1 { // else -1 means processes of the host
		sys.OnUnrestrictedThread(func() { unix.Kill(-1, unix.SIGKILL) })
	}
}

// readSpec waits for the launcher's message: one byte, whose bits say which of the server's
// standard descriptors come with it, and then the spec.
func (s *Process) readSpec() error {
	var present [1]byte
	rights := make([]byte, unix.CmsgSpace(3*4))
	n, size, _, _, err := unix.Recvmsg(spec.SpecFD, present[:], rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return err
	}
	if n == 0 {
		unix.Exit(0) // the launcher closed the socket: it does not need this process
	}
	fds, err := sys.ParseRights(rights[:size])
	if err != nil {
		return err
	}
	for fd := range 3 {
		if present[0]&(1<<fd) == 0 {
			continue
		}
		if len(fds) == 0 {
			return spec.ErrSpec
		}
		if err := unix.Dup3(fds[0], fd, 0); err != nil {
			return err
		}
		unix.Close(fds[0])
		fds = fds[1:]
	}
	return s.takeSpec(spec.SpecFD)
}

// takeSpec reads the length of the spec, and then the spec. The descriptors of the files for
// undo, if there are any, come with the length.
func (s *Process) takeSpec(fd int) error {
	var length [4]byte
	rights := make([]byte, unix.CmsgSpace(2*4))
	n, size, _, _, err := unix.Recvmsg(fd, length[:], rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return err
	}
	if s.kept, err = sys.ParseRights(rights[:size]); err != nil {
		return err
	}
	if err := sys.ReadFull(fd, length[n:]); err != nil {
		return err
	}
	b := make([]byte, binary.BigEndian.Uint32(length[:]))
	err = sys.ReadFull(fd, b)
	if err != nil {
		return err
	}
	if s.Spec, err = spec.Decode(b); err == nil && s.Spec.HostNS != s.HostNS {
		err = spec.ErrSpec // the spec of a jail of the other form
	}
	if err == nil && s.Spec.Keep.On && len(s.kept) != 2 {
		err = spec.ErrSpec
	}
	return err
}

// launcherLives ends this process, and the jail, if the launcher has ended.
func (s *Process) launcherLives() error {
	fds := []unix.PollFd{{Fd: spec.EventsFD}}
	if _, err := unix.Poll(fds, 0); err != nil && !errors.Is(err, unix.EINTR) {
		return err
	}
	if fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
		if s.HostNS {
			s.killHostNS()
		}
		unix.Exit(1) // there is no launcher to report to
	}
	return nil
}

func (s *Process) awaitGateway() error {
	if !s.Spec.Network.Brokered {
		return nil
	}
	return sys.ReadFull(spec.SpecFD, make([]byte, 1))
}

// startProgram starts the server and then reaps. It does not return.
//
// During the fork this thread keeps its P (see the Go scheduler) until the exec is done, and
// the mediator must answer that exec on another thread. So the launcher starts this process
// with a GOMAXPROCS above one and without garbage collection, which would stop the world.
func (s *Process) startProgram() {
	attr := &syscall.SysProcAttr{
		Setsid:    true,
		Pdeathsig: syscall.SIGKILL, // in case the supervisor is killed
		PidFD:     &s.pidfd,
	}
	release := sys.ReserveFDTable()
	pid, err := syscall.ForkExec(s.Spec.Program, s.Spec.Argv, &syscall.ProcAttr{
		Env:   s.Spec.Env,
		Files: []uintptr{0, 1, 2},
		Sys:   attr,
	})
	release()
	if err != nil {
		s.fail(jail.WrapStep(sys.Exec, sys.On(s.Spec.Program, err)))
	}
	close(s.started)
	s.status.send(spec.Event{Kind: spec.EventStarted, Pid: pid})
	debug.SetGCPercent(100)
	s.releaseStdio()
	close(s.watch)
	s.reap(pid)
}

// releaseStdio replaces this process's standard descriptors by /dev/null, so that the client
// sees end-of-file when the server closes its standard descriptors.
func (s *Process) releaseStdio() {
	s.openNull()
	if s.null < 0 {
		return
	}
	for fd := range 3 {
		unix.Dup3(s.null, fd, 0)
	}
	unix.Close(s.null)
}

func (s *Process) openNull() {
	if s.null < 0 {
		s.null, _ = unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	}
}

// reap reaps the children of this process until the server exits. Then it reports the exit,
// kills the processes that the server left, and ends this process. It passes every other status
// to the mediator, for the traced threads.
func (s *Process) reap(program int) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			unix.Exit(1)
		case pid == program && (ws.Exited() || ws.Signaled()):
			m := jail.ExitEvent(ws)
			if s.mediator != nil {
				s.mediator.Reporter.Flush()
			}
			s.status.send(m)
			s.killHostNS()
			unix.Exit(0) // not os.Exit, in which the race detector sleeps for a second
		case s.mediator != nil:
			s.mediator.Stopped(pid, ws)
		}
	}
}
