// Package watch asks the user on the terminal about hosts. Nothing calls it until learn is rebuilt.
package watch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Asker asks the user on the terminal whether the server may reach a host. A client has the standard streams
// of the session, so the question goes to the controlling terminal.
type Asker struct {
	server string
	tty    *os.File
	lines  chan string
	mu     sync.Mutex // one question at a time
}

// Ask has a launcher ask the user about each host. It returns what releases the terminal.
func Ask(server string, launcher *confine.Launcher) (io.Closer, error) {
	a, err := newAsker(server)
	if err != nil {
		return nil, &exit.HostError{Err: err}
	}
	launcher.AskHost = a.Ask
	return a, nil
}

// newAsker returns an error if there is no terminal.
func newAsker(server string) (*Asker, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("there is no terminal to ask about hosts: %w; name them with --net HOST", err)
	}
	a := &Asker{server: server, tty: tty, lines: make(chan string)}
	go a.read()
	return a, nil
}

// read reads lines until the terminal is released. A line that answers no question is lost.
func (a *Asker) read() {
	lines := bufio.NewScanner(a.tty)
	for lines.Scan() {
		a.lines <- lines.Text()
	}
	close(a.lines)
}

// Close releases the terminal.
func (a *Asker) Close() error { return a.tty.Close() }

// Ask asks about one host and port. Everything but a yes is a no.
func (a *Asker) Ask(ctx context.Context, host string, port int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	select {
	case <-a.lines: // the answer to a question that was taken back
	default:
	}
	fmt.Fprintf(a.tty, "%s wants to reach %s:%d. Let it? [y/N] ", show.Name(a.server), show.Name(host), port)
	select {
	case line := <-a.lines:
		line = strings.ToLower(strings.TrimSpace(line))
		return line == "y" || line == "yes"
	case <-ctx.Done():
		fmt.Fprintln(a.tty, "\n  it no longer waits for an answer")
		return false
	}
}
