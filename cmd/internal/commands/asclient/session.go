// Package asclient starts a server as its client starts it, in a child process: mcp-jail run with the flags
// of its entry. So its jail, its private HOME, its records and what undo keeps are those of the sessions of
// the client, beside which this is one session more.
//
//   - choose.go finds the entry that a name means, and what run is given for it.
//   - inputs.go has the values that the client would ask its user for.
//   - session.go starts the session, and ends it.
package asclient

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
)

// Session is mcp-jail run with the server, of which this process is the client.
type Session struct {
	In  io.WriteCloser
	Out io.Reader

	Began   time.Time
	cmd     *exec.Cmd
	done    chan struct{} // closed when all of stderr was read
	console terminal.Console
	verbose bool

	mu   sync.Mutex
	held bool                   // lines of mcp-jail's own are kept for later
	pass func(line string) bool // those that are not; nil unless held
	own  []string               // lines of mcp-jail's own, without their prefix, that are not shown yet
	// Those that were shown.
	shown []string
}

// OwnPrefix begins the lines of mcp-jail's own. What a server writes does not begin so: a session
// quotes such a line.
const OwnPrefix = "mcp-jail: "

// Marked returns a server's words for a terminal, each line of the screen with a mark: without it, a server could write what looks
// like mcp-jail's own, such as the command that grants something.
func Marked(c terminal.Console, text string) string {
	const mark, widest = "  | ", 80
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		for rest := []rune(line); ; {
			n := len(rest)
			if width := c.TextColumns(); c.OutIsTerminal() || c.ErrIsTerminal() { // not folded again
				n = min(n, min(width, widest)-len(mark)-1)
			}
			lines = append(lines, mark+string(rest[:n]))
			if rest = rest[n:]; len(rest) == 0 {
				break
			}
		}
	}
	return strings.Join(lines, "\n")
}

// endAfter is how long a session may take to end after it was told to.
const endAfter = 15 * time.Second

// patience is how long a server may take to end after the end of its input.
const patience = 2 * time.Second

// Start starts the session. When ctx ends, so does the session.
func Start(ctx context.Context, c terminal.Console, t *Target, verbose bool) (*Session, error) {
	program, err := programs.Beside(programs.Main)
	if err != nil {
		return nil, err
	}
	s := &Session{Began: time.Now(), console: c, verbose: verbose, done: make(chan struct{})}
	s.cmd = exec.CommandContext(ctx, program, t.Argv...)
	s.cmd.Args[0] = programs.Main
	s.cmd.Dir, s.cmd.Env, s.cmd.ExtraFiles = t.Dir, environment(os.Environ(), t), t.Files
	if s.In, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if s.Out, err = s.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	errs, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	s.cmd.Cancel = func() error {
		return errors.Join(s.In.Close(), s.cmd.Process.Signal(syscall.SIGTERM))
	}
	s.cmd.WaitDelay = endAfter
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go s.read(errs)
	return s, nil
}

// environment returns the environment of the session: that of this process, with what the client of
// the entry sets.
func environment(environ []string, t *Target) []string {
	for _, v := range t.Env {
		environ = slices.DeleteFunc(environ, func(e string) bool { return strings.HasPrefix(e, v.Name+"=") })
		if !v.Unset {
			environ = append(environ, v.Name+"="+v.Value)
		}
	}
	return environ
}

// read shows what the session says on stderr: lines of mcp-jail's own at once until Hold is called,
// and lines of the server if they were asked for.
func (s *Session) read(from io.Reader) {
	defer close(s.done)
	lines := bufio.NewReaderSize(from, 64<<10)
	within := false // a line that is longer than that: the rest of it is the server's, too
	for {
		line, more, err := lines.ReadLine()
		if err != nil {
			return
		}
		own, isOwn := strings.CutPrefix(string(line), OwnPrefix)
		s.take(string(line), own, isOwn && !within)
		within = more
	}
}

// maxLines is how many lines of the child's stderr are kept. A session writes far fewer.
const maxLines = 1000

func (s *Session) take(line, own string, isOwn bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if head, rest, ok := strings.Cut(own, "they are shown here instead"); ok && !s.verbose {
		own = head + "--verbose shows them" + strings.TrimSuffix(rest, ":")
	}
	switch {
	case line == "":
	case isOwn && s.held && s.pass(own):
		s.console.Notef("%s%s", OwnPrefix, own)
	case isOwn && s.held && len(s.own) < maxLines:
		s.own = append(s.own, own)
	case isOwn && s.held:
	case isOwn:
		if len(s.shown) < maxLines {
			s.shown = append(s.shown, own)
		}
		s.console.Notef("%s%s", OwnPrefix, own)
	case s.verbose:
		s.console.Notef("%s", Marked(s.console, line))
	}
}

// Hold keeps lines of mcp-jail's own until the result was shown.
func (s *Session) Hold() { s.HoldBut(func(string) bool { return false }) }

// HoldBut is Hold, but for lines that pass: those are shown at once.
func (s *Session) HoldBut(pass func(line string) bool) {
	s.mu.Lock()
	s.held, s.pass = true, pass
	s.mu.Unlock()
}

// End closes the input of the session, and waits for its end.
func (s *Session) End() {
	s.In.Close()
	// A server that does not heed the end of its input is told once more, as clients do it.
	impatient := time.AfterFunc(patience, func() { s.cmd.Process.Signal(syscall.SIGTERM) })
	defer impatient.Stop()
	go io.Copy(io.Discard, s.Out) // a session that cannot write would not end
	<-s.done
	s.cmd.Wait() // the answers tell how it ended
}

// Lines returns the lines of mcp-jail's own, after End: those that Hold has kept, and those that were shown.
func (s *Session) Lines() (held, shown []string) { return s.own, s.shown }

// PID returns the id of the process of mcp-jail run.
func (s *Session) PID() int { return s.cmd.Process.Pid }
