package session

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// waiter waits for an installation in front of a client. It says on stderr how far that is.
type waiter struct {
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

// newWaiter returns a waiter for the package of a name. asked are the arguments of mcp-jail install for it.
func newWaiter(c terminal.Console, name, asked string) *waiter {
	in, out, _ := c.Raw()
	w := &waiter{client: newClientPeek(in), out: out, console: c, begin: time.Now(), name: name, asked: asked}
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
func (w *waiter) Wait(messages <-chan Message) error {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	defer w.clear()
	for {
		select {
		case m, ok := <-messages:
			switch {
			case !ok:
				return nil // the exit status tells
			case m.Waived != nil:
				w.warn(m.Waived)
				continue
			case m.Gaps != nil:
				return &terminal.HostError{Err: m.Gaps}
			case m.Error != "":
				return &Error{Reason: m.Error}
			case m.Ready != "":
				w.clear()
				w.console.Sayf("%s", ReadyText(w.name, m))
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
				w.Left = true
				return &Error{fmt.Sprintf("%s is not ready yet (%s). The next start goes on where this one stopped", w.name, w.progress()), "to download it now, in a terminal: mcp-jail install " + w.asked}
			}
			w.notify()
			w.report()
		}
	}
}

// report says how far the installation is, but not with each tick: stderr is a client's log.
func (w *waiter) report() {
	w.ticks++
	if w.spinner != nil {
		w.show()
	} else if w.ticks%sayEvery == 1 {
		w.console.Sayf("%s", w.progress())
	}
}

func (w *waiter) show() {
	if w.spinner != nil {
		w.spinner.Show(w.progress())
	}
}

func (w *waiter) warn(lines []string) {
	w.clear()
	for _, line := range lines {
		if !slices.Contains(w.Waived, line) {
			w.Waived = append(w.Waived, line)
			w.console.Sayf("%s", show.Line(line))
		}
	}
}

func (w *waiter) clear() {
	if w.spinner != nil {
		w.spinner.Clear()
	}
}

// ReadyText says that the package of a server is there. m has the name and the version in Ready.
func ReadyText(server string, m Message) string {
	version := m.Ready[strings.LastIndex(m.Ready, " ")+1:]
	return fmt.Sprintf("%s is ready: version %s, %s. It now starts without a network.", show.Line(server), show.Line(version), amount(m.Bytes))
}

// Starting is the Step of a Message about a server that is started to list its tools.
const Starting = "starting"

// Moving says what is done for the package of a server, how far it is, and that it may take long.
func Moving(server string, m Message, since time.Duration) string {
	server = show.Line(server)
	switch m.Step {
	case Starting:
		return "starting " + server + " to list its tools: " + duration(since)
	case "waiting":
		return "waiting for another download of " + server + ": " + duration(since)
	case "looking":
		return "asking for newer versions of " + server + ": " + duration(since)
	case "scripts":
		return "compiling " + server + ": " + duration(since) + " (this can take several minutes)"
	case "sealing":
		return "checking " + server + ": " + duration(since)
	}
	size := ""
	if m.Bytes >= 1000 || m.Files > 1 { // one small file is there before anything is fetched
		size = amount(m.Bytes) + ", "
	}
	long := ""
	if since >= longStep {
		long = " (can take minutes)"
	}
	return "downloading " + server + ": " + size + duration(since) + long
}

// longStep is how long a download takes without a word that it may take long.
const longStep = 10 * time.Second

func duration(d time.Duration) string {
	if s := int(d.Seconds()); s < 60 {
		return fmt.Sprintf("%d s", s)
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

func amount(n int64) string {
	if n < 1e5 {
		return fmt.Sprintf("%d kB", (n+999)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// progress returns how far the installation is and since when it runs.
func (w *waiter) progress() string { return Moving(w.name, w.last, time.Since(w.begin)) }

func (w *waiter) notify() {
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

// Message is one line of JSON that the companion prints while it installs for a session.
type Message struct {
	Step  string `json:"step,omitempty"`
	Files int    `json:"files,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	Ready string `json:"ready,omitempty"` // name and version
	Error string `json:"error,omitempty"`

	Waived []string          `json:"waived,omitempty"` // lines about gaps of the jail that fetches, and about what it does not use
	Gaps   *confine.GapError `json:"gaps,omitempty"`   // with Error: those that are not waived
}

// Download is a package that wrap has the companion install.
type Download struct {
	Name  string   `json:"name"` // of its servers
	Argv  []string `json:"argv"`
	Waive []string `json:"waive,omitempty"`
}

// read sends the messages of the companion, and closes the channel at the end.
func read(from io.Reader, to chan<- Message) {
	defer close(to)
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m Message
		if json.Unmarshal(lines.Bytes(), &m) == nil {
			to <- m
		}
	}
}

// Error reports that the package of a server could not be installed, or cannot be used.
type Error struct {
	Reason string
	Fix    string // "" if the reason says what to do
}

func (e *Error) Error() string { return e.Reason }

// clientPeek has the facts of the first message of the client. It leaves the message in the
// input.
type clientPeek struct {
	in    io.Reader
	own   bool            // the client is mcp-jail itself
	token json.RawMessage // for progress; nil if it wants none
	since time.Time       // when its first message was seen
}

func newClientPeek(in io.Reader) *clientPeek { return &clientPeek{in: in} }

func (p *clientPeek) look() {
	if !p.since.IsZero() {
		return
	}
	line, _, whole := strings.Cut(string(peekInput(p.in)), "\n")
	if !whole {
		return
	}
	p.since = time.Now()
	p.hear(line)
}

func (p *clientPeek) hear(line string) {
	var first struct {
		Params struct {
			ClientInfo struct {
				Name string `json:"name"`
			} `json:"clientInfo"`
			Meta struct {
				ProgressToken json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal([]byte(line), &first) == nil {
		p.own, p.token = strings.HasPrefix(first.Params.ClientInfo.Name, "mcp-jail "), first.Params.Meta.ProgressToken
	}
}

// patience is how long a client waits for an answer, less a bit: most wait for 30 to 600 seconds. After a client that
// waits less has left, the installation goes on without it.
const patience = 24 * time.Second

// impatient reports whether the client can wait no longer. mcp-jail call and learn have a time limit of their own.
func (p *clientPeek) impatient() bool {
	return !p.own && !p.since.IsZero() && time.Since(p.since) > patience
}
