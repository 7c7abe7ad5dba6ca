package callcmd

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
)

// clientSession is mcp-jail run with the server, of which this process is the client.
type clientSession struct {
	in  io.WriteCloser
	out io.Reader

	began   time.Time
	cmd     *exec.Cmd
	done    chan struct{} // closed when all of stderr was read
	console terminal.Console
	verbose bool

	mu   sync.Mutex
	held bool     // lines of mcp-jail's own are kept for later
	own  []string // lines of mcp-jail's own, without their prefix, that are not shown yet
	// Those that were shown.
	shown []string
}

// ownPrefix begins the lines of mcp-jail's own. What a server writes does not begin so: a session
// quotes such a line.
const ownPrefix = "mcp-jail: "

// endAfter is how long a session may take to end after it was told to.
const endAfter = 15 * time.Second

// patience is how long a server may take to end after the end of its input.
const patience = 2 * time.Second

// start starts the session. When ctx ends, so does the session.
func start(ctx context.Context, c terminal.Console, t *target, verbose bool) (*clientSession, error) {
	program, err := cmdline.Beside(cmdline.Main)
	if err != nil {
		return nil, err
	}
	s := &clientSession{began: time.Now(), console: c, verbose: verbose, done: make(chan struct{})}
	s.cmd = exec.CommandContext(ctx, program, t.Argv...)
	s.cmd.Args[0] = cmdline.Main
	s.cmd.Dir, s.cmd.Env = t.Dir, clients.Environ(os.Environ(), t.Env)
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if s.out, err = s.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	errs, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	s.cmd.Cancel = func() error {
		return errors.Join(s.in.Close(), s.cmd.Process.Signal(syscall.SIGTERM))
	}
	s.cmd.WaitDelay = endAfter
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go s.read(errs)
	return s, nil
}

// Interruptible returns a context that a signal ends, with a *terminal.InterruptedError as its cause, until stop is called.
func Interruptible(undone string) (_ context.Context, stop func()) {
	interrupted := cli.Interrupts()
	ctx, end := context.WithCancelCause(context.Background())
	go func() {
		select {
		case <-interrupted:
			end(&terminal.InterruptedError{Undone: undone})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(interrupted)
		end(nil)
	}
}

// Enter gives this process the environment and the directory of the session.
func (t *target) Enter() error {
	for _, v := range t.Env {
		err := os.Setenv(v.Name, v.Value)
		if v.Unset {
			err = os.Unsetenv(v.Name)
		}
		if err != nil {
			return err
		}
	}
	return os.Chdir(t.Dir)
}

// read shows what the session says on stderr: lines of mcp-jail's own at once until hold is called,
// and lines of the server if they were asked for.
func (s *clientSession) read(from io.Reader) {
	defer close(s.done)
	lines := bufio.NewReaderSize(from, 64<<10)
	within := false // a line that is longer than that: the rest of it is the server's, too
	for {
		line, more, err := lines.ReadLine()
		if err != nil {
			return
		}
		own, isOwn := strings.CutPrefix(string(line), ownPrefix)
		s.take(string(line), own, isOwn && !within)
		within = more
	}
}

// maxLines is how many lines of the child's stderr are kept. A session writes far fewer.
const maxLines = 1000

func (s *clientSession) take(line, own string, isOwn bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if head, rest, ok := strings.Cut(own, "they are shown here instead"); ok && !s.verbose {
		own = head + "--verbose shows them" + strings.TrimSuffix(rest, ":")
	}
	switch {
	case line == "":
	case isOwn && s.held && len(s.own) < maxLines:
		s.own = append(s.own, own)
	case isOwn && s.held:
	case isOwn:
		if len(s.shown) < maxLines {
			s.shown = append(s.shown, own)
		}
		s.console.Notef("%s%s", ownPrefix, own)
	case s.verbose:
		s.console.Notef("%s", s.console.Quoted(line))
	}
}

// hold keeps lines of mcp-jail's own until the result was shown.
func (s *clientSession) hold() {
	s.mu.Lock()
	s.held = true
	s.mu.Unlock()
}

// end closes the input of the session, and waits for its end.
func (s *clientSession) end() {
	s.in.Close()
	// A server that does not heed the end of its input is told once more, as clients do it.
	impatient := time.AfterFunc(patience, func() { s.cmd.Process.Signal(syscall.SIGTERM) })
	defer impatient.Stop()
	go io.Copy(io.Discard, s.out) // a session that cannot write would not end
	<-s.done
	s.cmd.Wait() // the answers tell how it ended
}

// lines returns the lines of mcp-jail's own, after end: those that hold has kept, and those that were shown.
func (s *clientSession) lines() (held, shown []string) { return s.own, s.shown }
