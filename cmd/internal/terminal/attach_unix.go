//go:build linux || darwin || freebsd

package terminal

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Attached is the console while a program has a terminal of its own, whose other end is the master. Bytes
// are passed on as they are: what the program writes draws on the user's terminal.
type Attached struct {
	console Console
	master  *os.File
	before  *term.State // of the user's terminal
	mu      sync.Mutex
	signals chan os.Signal
	stopped chan struct{}
	drawn   chan struct{} // closed when the master has nothing more
}

// LikeConsole gives a new terminal the size and the modes of the user's.
func (c Console) LikeConsole(master *os.File) {
	onTerminal(c.in, func(fd int) {
		modes, err := unix.IoctlGetTermios(fd, getModes)
		if err == nil {
			onTerminal(master, func(fd int) { unix.IoctlSetTermios(fd, setModes, modes) })
		}
	})
	c.resize(master)
}

func (c Console) resize(master *os.File) {
	onTerminal(c.in, func(fd int) {
		size, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
		if err == nil {
			onTerminal(master, func(fd int) { unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size) })
		}
	})
}

// onTerminal calls f with the descriptor of a file. It does not call Fd: see IsTerminal.
func onTerminal(file *os.File, f func(fd int)) {
	if conn, err := file.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { f(int(fd)) })
	}
}

// Attach connects the console, which is a terminal, with the master of another one until Detach. The keys
// reach the other terminal untouched, which makes signals of Ctrl-C and Ctrl-Z for its own programs.
func (c Console) Attach(master *os.File) (*Attached, error) {
	a := &Attached{console: c, master: master, signals: make(chan os.Signal, 16), stopped: make(chan struct{}), drawn: make(chan struct{})}
	if err := a.raw(); err != nil {
		return nil, err
	}
	signal.Notify(a.signals, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT)
	c.resize(master) // it may have changed since LikeConsole
	go a.follow()
	go io.Copy(master, c.in) // attach does not wait for this: the user may type nothing more
	go func() {
		io.Copy(c.out, master)
		close(a.drawn)
	}()
	return a, nil
}

func (a *Attached) raw() (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	onTerminal(a.console.in, func(fd int) {
		var before *term.State
		if before, err = term.MakeRaw(fd); err == nil && a.before == nil {
			a.before = before
		}
	})
	return err
}

func (a *Attached) restore() {
	a.mu.Lock()
	defer a.mu.Unlock()
	onTerminal(a.console.in, func(fd int) { term.Restore(fd, a.before) })
}

// follow passes the size of the user's terminal on. If this process is stopped, the terminal is as it was
// until the process goes on.
func (a *Attached) follow() {
	defer close(a.stopped)
	for s := range a.signals {
		switch s {
		case syscall.SIGTSTP:
			a.restore()
			syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
		case syscall.SIGCONT:
			a.raw()
			a.console.resize(a.master)
		default:
			a.console.resize(a.master)
		}
	}
}

// Drawn is closed when all programs of the other terminal are gone, and what they wrote is on the console.
func (a *Attached) Drawn() <-chan struct{} { return a.drawn }

// settlePause is how long Detach waits for answers of the user's terminal.
const settlePause = 100 * time.Millisecond

// Detach ends the connection, and gives the user's terminal the modes from before. A program can have asked the
// terminal for an answer, such as its kind, which comes as input when the program is gone. The user's own
// shell would take that for something typed, so it is dropped.
func (a *Attached) Detach() {
	signal.Stop(a.signals)
	close(a.signals)
	<-a.stopped
	time.Sleep(settlePause)
	onTerminal(a.console.in, flushInput)
	a.restore()
}
