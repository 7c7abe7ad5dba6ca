package confine

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// The supervisor of a jail with namespaces is executed when it is needed (see
// jailBuilder.relieveOuter), as the first process of the outer PID namespace: with it ends
// the jail. The server cannot see it.

// Descriptors of a supervisor. orderFD is for signals, statusFD for its order as well.
const (
	listenerFD  = statusFD + 1 + iota // of the server's filter, where it has one
	makingFD                          // the ruleset of its workers
	serverFD                          // of the server, for signals
	procFD                            // a proc that shows it and the jail, its working directory
	superviseFD                       // what it was executed from
)

// superviseJail does what a supervisor does, and does not return.
func superviseJail() {
	procDir, procAt = ".", procFD
	s := newShim()
	s.pidfd, s.making = serverFD, makingFD
	for _, step := range []buildStep{
		{stepPoller, s.init, CanPoll},
		{"parent", s.init, s.bindToLauncher},
		{"order", s.init, func() error { return s.takeOrder(statusFD) }},
		{"limits", s.init, s.limitSelf},
	} {
		if err := step.run(); err != nil {
			s.fail(wrapStep(step.name, err))
		}
	}
	s.makeThreads()
	s.say(message{kind: saysHere})
	if len(s.order.Hooks) > 0 {
		s.supervisor = newSupervisor(s.supervision())
		s.supervisor.listener, s.supervisor.running = listenerFD, true
		close(s.supervisor.open)
	}
	close(s.watch)
	go s.outliveNobody()
	runtime.UnlockOSThread()
	s.passSignals(0)
}

// outliveNobody ends the supervisor when the jail's init has ended, its only child. The
// launcher, which hears of the server's end from the init, would wait for ever.
func (s *shim) outliveNobody() {
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != syscall.EINTR {
			s.isOver()
		}
	}
}

// bindToLauncher has the kernel kill the jail when the launcher dies, and checks that it
// was not too late to ask (prctl(2), PR_SET_PDEATHSIG). The launcher is in another PID
// namespace, so its death shows at the other end of the socket, not in getppid.
func (s *shim) bindToLauncher() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	return s.launcherLives()
}

// limitSelf keeps to the limits of what the supervisor makes in the server's place.
func (s *shim) limitSelf() error {
	for resource, value := range map[int]int{unix.RLIMIT_CORE: 1, unix.RLIMIT_FSIZE: s.order.Limits.FileSizeMB << 20} {
		var old syscall.Rlimit
		if err := syscall.Getrlimit(resource, &old); err != nil {
			return err
		}
		if value <= 0 {
			continue
		}
		limit := min(uint64(value), old.Max)
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}
