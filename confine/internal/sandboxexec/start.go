//go:build darwin || linux

package sandboxexec

import (
	"io"
	"os"
	"strconv"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"golang.org/x/sys/unix"
)

// start makes what the server needs and starts sandbox-exec, which becomes the program inside and
// then the server.
func (s *supervisor) start() error {
	if s.spec.Seatbelt.File == "" || s.spec.Seatbelt.Self == "" {
		return &step.Error{Step: step.Spec, Detail: "the plan has no profile for sandbox-exec"}
	}
	note, err := makePrivate(s.spec, func() {
		s.tempDir = s.spec.TempDir
		s.events.send(spec.Event{Kind: spec.EventTempDir})
	})
	if err != nil {
		return step.Wrap(StepPrivate, err)
	}
	if note != "" {
		s.events.send(spec.Event{Kind: spec.EventNote, Step: spec.NoteWarning, Detail: note})
	}
	if s.table, err = openTable(); err != nil {
		return step.Wrap(step.Supervision, step.On("kqueue", err))
	}
	s.table.follow(s.launcher)
	followOrphans()
	return s.spawn()
}

// spawn starts sandbox-exec and hands the spec to the program inside.
func (s *supervisor) spawn() error {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return step.Wrap("descriptors", step.On(os.DevNull, err))
	}
	for i, fd := range s.stdio {
		if fd < 0 {
			s.stdio[i], _ = unix.FcntlInt(uintptr(null), unix.F_DUPFD_CLOEXEC, 0)
		}
	}
	var pipes [3][2]int
	for i := range pipes {
		if err := makePipe(&pipes[i]); err != nil {
			return step.Wrap("descriptors", err)
		}
	}
	specs, reports, words := pipes[0], pipes[1], pipes[2]
	files := []uintptr{uintptr(s.stdio[0]), uintptr(s.stdio[1]), uintptr(words[1]), uintptr(specs[0]), uintptr(reports[1]), uintptr(s.stdio[2])}
	file, env := program()
	argv := append([]string{Path}, Arguments(s.spec.Seatbelt.File, s.spec.Seatbelt.Params, s.spec.Seatbelt.Self, InsideName)...)
	pid, err := syscall.ForkExec(file, argv, &syscall.ProcAttr{Dir: "/", Env: env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}})
	for _, fd := range []int{null, words[1], specs[0], reports[1], s.stdio[0], s.stdio[1], s.stdio[2]} {
		unix.Close(fd)
	}
	if err != nil {
		return &step.Error{Step: StepApply, Errno: step.Errno(err), Detail: Path}
	}
	s.server, err = os.FindProcess(pid)
	if err != nil {
		return step.Wrap(step.Supervision, err)
	}
	s.family = newFamily(s.table, pid)
	s.family.above = os.Getpid()
	s.family.joined = func(p process) { s.events.send(memberEvent(p, false)) }
	_, err = s.family.refresh()
	s.reap() // after the look: its number cannot be another process's before
	if err != nil {
		s.server.Kill()
		return step.Wrap(step.Supervision, err)
	}
	// The launcher ends the server if this process is killed. So it hears of the process before that
	// gets what it needs to become the server.
	if err := s.events.send(memberEvent(process{pid: pid, start: s.family.born}, true)); err != nil {
		s.end()
	}
	s.listen(specs[1], reports[0], words[0])
	return nil
}

// memberEvent tells the launcher of a process that it must end if this one is killed.
func memberEvent(p process, leads bool) spec.Event {
	e := spec.Event{Kind: spec.EventMember, Pid: p.pid, Detail: strconv.FormatInt(p.start, 10)}
	if leads {
		e.Num = 1
	}
	return e
}

// listen starts the goroutines that talk with the program inside.
func (s *supervisor) listen(specs, reports, words int) {
	go func() {
		writeFull(specs, s.spec.Encode())
		unix.Close(specs)
	}()
	out := s.reports
	go func() {
		defer unix.Close(reports)
		defer close(out)
		ReadEvents(fdReader(reports), func(e spec.Event) { out <- e })
	}()
	go func() {
		b, _ := io.ReadAll(io.LimitReader(fdReader(words), maxWords))
		s.said <- string(b)
		io.Copy(io.Discard, fdReader(words))
		unix.Close(words)
	}()
}

// reap starts the goroutine that waits for the end of the server's first process.
func (s *supervisor) reap() {
	server := s.server
	go func() {
		state, err := server.Wait()
		if err != nil {
			s.fail(step.Wrap(step.Supervision, err))
		}
		s.exited <- state.Sys().(syscall.WaitStatus)
	}()
}

// maxWords is how much of the stderr of sandbox-exec is kept.
const maxWords = 64 << 10

// ReadEvents calls f for each event that it reads, until there are no more.
func ReadEvents(r io.Reader, f func(spec.Event)) error {
	var rest []byte
	chunk := make([]byte, 4096)
	for {
		n, err := r.Read(chunk)
		rest = append(rest, chunk[:n]...)
		for {
			e, after, parsed := spec.NextEvent(rest)
			if parsed == io.ErrUnexpectedEOF {
				break
			}
			if parsed != nil {
				return parsed
			}
			rest = after
			f(e)
		}
		if err != nil {
			return err
		}
	}
}

// makePipe makes a pipe that no other program inherits.
func makePipe(p *[2]int) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := unix.Pipe(p[:]); err != nil {
		return err
	}
	unix.CloseOnExec(p[0])
	unix.CloseOnExec(p[1])
	return nil
}
