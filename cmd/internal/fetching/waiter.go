package fetching

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Waiter waits for an installation in front of a client. It says on stderr how far that is.
type Waiter struct {
	Waived []string // lines that were printed
	Left   bool     // the client can wait no longer

	client  *clientPeek
	out     io.Writer
	console terminal.Console
	spinner *terminal.Spinner // nil where a line cannot be changed
	begin   time.Time
	name    string
	asked   string // the arguments of mcp-jail install for this server
	last    Message
	steps   int // notifications
	ticks   int // seconds
}

// NewWaiter returns a waiter for the package of a name. asked are the arguments of mcp-jail install for it.
func NewWaiter(c terminal.Console, name, asked string) *Waiter {
	in, out, _ := c.Raw()
	w := &Waiter{client: newClientPeek(in), out: out, console: c, begin: time.Now(), name: name, asked: asked}
	if c.Spins() {
		w.spinner = c.Spinner()
	}
	return w
}

// reportEvery is the time between two notifications to the client.
const reportEvery = time.Second

// sayEvery is how many of these times are between two lines on stderr. The first line comes at the
// first of them.
const sayEvery = 5

// Wait waits for the end of the messages, for a failure, or until the client has waited long enough.
func (w *Waiter) Wait(messages <-chan Message) error {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case m, ok := <-messages:
			switch {
			case !ok:
				w.clear()
				return nil // the exit status tells
			case m.Waived != nil:
				w.warn(m.Waived)
				continue
			case m.Gaps != nil:
				w.clear()
				return &exit.HostError{Err: m.Gaps}
			case m.Error != "":
				w.clear()
				return &Error{w.name, m.Error}
			case m.Ready != "":
				w.ready(m)
				return nil
			}
			if m.Files == 0 && m.Bytes == 0 {
				m.Files, m.Bytes = w.last.Files, w.last.Bytes // those of the step before
			}
			w.last = m
			w.show()
		case <-tick.C:
			w.client.look()
			if w.client.impatient() {
				w.clear()
				w.Left = true
				return &Error{w.name, fmt.Sprintf("%s is still being fetched (%s). Start the server again: the next start goes on where this one stopped. Ahead of time, in a terminal: mcp-jail install %s", w.name, strings.TrimPrefix(w.progress(), "fetching "+w.name+": "), w.asked)}
			}
			w.notify()
			w.report()
		}
	}
}

// report says how far the installation is, but not with each tick: stderr is a client's log.
func (w *Waiter) report() {
	w.ticks++
	if w.spinner != nil {
		w.show()
	} else if w.ticks%sayEvery == 1 {
		w.console.Sayf("%s", w.progress())
	}
}

func (w *Waiter) show() {
	if w.spinner != nil {
		w.spinner.Show(Step(w.last.Step) + " " + w.name + w.size())
	}
}

func (w *Waiter) warn(lines []string) {
	w.clear()
	for _, line := range lines {
		if !slices.Contains(w.Waived, line) {
			w.Waived = append(w.Waived, line)
			w.console.Sayf("%s", show.Line(line))
		}
	}
}

func (w *Waiter) clear() {
	if w.spinner != nil {
		w.spinner.Clear()
	}
}

func (w *Waiter) ready(m Message) {
	w.clear()
	packages := "packages"
	if m.Packages == 1 {
		packages = "package"
	}
	w.console.Sayf("ready: %s, %d %s, %s in %d s; later starts need no network", m.Ready, m.Packages, packages, amount(m.Bytes), int(time.Since(w.begin).Seconds()))
}

// Step returns a step of package install in words, before the name of the package.
func Step(step string) string {
	switch step {
	case "waiting":
		return "waiting for another installation of"
	case "scripts":
		return "running the install scripts of"
	case "sealing":
		return "hashing"
	}
	return "fetching"
}

func amount(n int64) string {
	if n < 1e5 {
		return fmt.Sprintf("%d kB", (n+999)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// size returns what is there already, after a colon, or "".
func (w *Waiter) size() string {
	switch {
	case w.last.Bytes == 0:
		return ""
	case w.last.Files < 2: // one is there before anything is fetched
		return ": " + amount(w.last.Bytes)
	}
	return fmt.Sprintf(": %d files, %s", w.last.Files, amount(w.last.Bytes))
}

// progress returns how far the installation is and since when it runs.
func (w *Waiter) progress() string {
	return fmt.Sprintf("%s %s%s, after %d s", Step(w.last.Step), w.name, w.size(), int(time.Since(w.begin).Seconds()))
}

func (w *Waiter) notify() {
	if w.client.token == nil {
		return
	}
	w.steps++
	text, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "method": "notifications/progress",
		"params": map[string]any{"progressToken": w.client.token, "progress": w.steps, "message": "mcp-jail: " + w.progress()},
	})
	if err == nil {
		w.out.Write(append(text, '\n'))
	}
}
