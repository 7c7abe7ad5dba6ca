//go:build darwin || linux

package sandboxexec

import (
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"golang.org/x/sys/unix"
)

// supervisor starts one server under sandbox-exec, watches its processes and ends them. All fields
// belong to the goroutine of supervise, except where they say otherwise.
type supervisor struct {
	spec     *spec.Spec
	stdio    [3]int // the server's, -1 for none
	launcher int    // its process ID
	events   eventWriter

	table   table
	family  *family
	server  *os.Process // nil once its end is known
	tempDir string      // the directory that makePrivate made

	gone    chan struct{}       // closed when the launcher has closed the socket
	signals chan syscall.Signal // for the server
	reports chan spec.Event     // from inside; closed at the end of the pipe
	said    chan string         // what sandbox-exec wrote to stderr, all of it
	exited  chan syscall.WaitStatus
	sampler sampler

	ready   bool // the program inside is ready
	running bool // the server was executed
}

// eventWriter writes events for the launcher.
type eventWriter struct{ mu *sync.Mutex }

func (w eventWriter) send(e spec.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return writeFull(spec.EventsFD, e.Encode())
}

// supervise is the work of a supervisor. It does not return.
func supervise() {
	unix.CloseOnExec(spec.SpecFD)
	unix.CloseOnExec(spec.EventsFD)
	s := &supervisor{
		events: eventWriter{new(sync.Mutex)}, launcher: os.Getppid(),
		gone: make(chan struct{}), signals: make(chan syscall.Signal, 16), reports: make(chan spec.Event), said: make(chan string, 1), exited: make(chan syscall.WaitStatus, 1),
	}
	asked := make(chan os.Signal, 4)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	var err error
	s.spec, s.stdio, err = receive(spec.SpecFD)
	if err == io.EOF {
		os.Exit(0) // the launcher does not need this process
	}
	if err != nil {
		s.fail(step.Wrap(step.Spec, err))
	}
	go s.readControl()
	if err := s.start(); err != nil {
		s.fail(err)
	}
	s.loop(asked)
}

// loop handles what happens until the server has ended, or until it is to end.
func (s *supervisor) loop(asked <-chan os.Signal) {
	pauses, ticks := make(chan time.Duration, 1), make(chan struct{})
	go func() {
		for d := range pauses {
			s.table.wait(d)
			ticks <- struct{}{}
		}
	}()
	pauses <- startPause
	for {
		select {
		case <-s.gone:
			s.end()
		case <-asked:
			s.end()
		case sig := <-s.signals:
			if s.running {
				s.server.Signal(sig)
			}
		case e, open := <-s.reports:
			s.report(e, open)
		case ws := <-s.exited:
			s.serverEnded(ws)
		case <-ticks:
			if os.Getppid() != s.launcher {
				s.end()
			}
			pauses <- s.look()
		}
	}
}

// report handles an event of the program inside. The end of the pipe after it was ready means that
// the server was executed: its end is close-on-exec.
func (s *supervisor) report(e spec.Event, open bool) {
	switch {
	case open && e.Kind == spec.EventReady:
		s.ready = true
		s.removeProfile()
	case open:
		s.fail(&step.Error{Step: e.Step, Errno: syscall.Errno(e.Num), Detail: e.Detail})
	case s.ready:
		s.reports, s.running = nil, true
		s.events.send(spec.Event{Kind: spec.EventStarted, Pid: s.family.root})
	default:
		s.reports = nil // it ends, and serverEnded says why
	}
}

// serverEnded reports how the server ended, and ends what it left. A program inside that was never
// ready is a failed start.
func (s *supervisor) serverEnded(ws syscall.WaitStatus) {
	s.server = nil
	if s.reports != nil {
		s.drainReports()
	}
	if !s.running {
		e := Ended{Code: ws.ExitStatus(), Said: s.words()}
		if ws.Signaled() {
			e.Signal = ws.Signal()
		}
		s.fail(Classify(e))
	}
	s.events.send(exitEvent(ws))
	s.end()
}

func exitEvent(ws syscall.WaitStatus) spec.Event {
	if ws.Signaled() {
		return spec.Event{Kind: spec.EventExit, Num: 128 + int(ws.Signal()), Pid: int(ws.Signal())}
	}
	return spec.Event{Kind: spec.EventExit, Num: ws.ExitStatus()}
}

// drainTime is how long the last words of a process that has ended are awaited.
const drainTime = time.Second

// drainReports handles what the program inside reported before it ended.
func (s *supervisor) drainReports() {
	late := time.After(drainTime)
	for s.reports != nil {
		select {
		case e, open := <-s.reports:
			s.report(e, open)
		case <-late:
			return
		}
	}
}

// words returns what sandbox-exec wrote to stderr.
func (s *supervisor) words() string {
	select {
	case said := <-s.said:
		return said
	case <-time.After(drainTime):
		return ""
	}
}

// fail ends the start, or the running server, and reports the reason.
func (s *supervisor) fail(err error) {
	e := step.Wrap(StepApply, err)
	left := s.endFamily()
	s.events.send(spec.Event{Kind: spec.EventFailed, Step: e.Step, Num: int(e.Errno), Detail: e.Detail, Target: e.Fix})
	s.finish(left)
}

// end ends every process of the server, and this one.
func (s *supervisor) end() { s.finish(s.endFamily()) }

func (s *supervisor) endFamily() (left []int) {
	if s.family == nil {
		return nil
	}
	left = s.family.kill()
	if s.server == nil || s.sawEnd() {
		return left
	}
	// The table did not show the server's first process, or it cannot end.
	s.server.Kill()
	left = s.family.kill()
	s.sawEnd()
	return left
}

// sawEnd waits a moment for the end of the server's first process and reports it.
func (s *supervisor) sawEnd() bool {
	select {
	case ws := <-s.exited:
		s.server = nil
		if s.running {
			s.events.send(exitEvent(ws)) // it may have ended by itself just before
		}
		return true
	case <-time.After(drainTime):
		return false
	}
}

// finish removes what the start made, and ends this process.
func (s *supervisor) finish(left []int) {
	if len(left) > 0 {
		s.events.send(survivors(left))
	}
	if s.spec != nil {
		s.removeProfile()
	}
	jail.RemoveTree(s.tempDir)
	os.Exit(0)
}

// removeProfile removes the profile with its directory: the launcher may be gone.
func (s *supervisor) removeProfile() {
	if file := s.spec.Seatbelt.File; file != "" && os.Remove(file) == nil {
		os.Remove(filepath.Dir(file))
	}
}

// survivors returns the warning about processes that could not be ended.
func survivors(left []int) spec.Event {
	text := "processes of the server could not be ended:"
	for _, pid := range left {
		text += " " + strconv.Itoa(pid)
	}
	return spec.Event{Kind: spec.EventNote, Step: spec.NoteWarning, Detail: text + ". They keep their sandbox, and have no network: end them with kill -9"}
}

// readControl passes on the signals that the launcher sends. The end of the socket means that the
// launcher has ended, or that the server is to end.
func (s *supervisor) readControl() {
	defer close(s.gone)
	var sig [1]byte
	for {
		if n, err := fdReader(spec.SpecFD).Read(sig[:]); n != 1 || err != nil {
			return
		}
		s.signals <- syscall.Signal(sig[0])
	}
}
