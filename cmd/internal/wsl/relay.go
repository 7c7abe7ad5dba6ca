package wsl

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
	"unicode/utf8"
)

// Streams are those of an MCP server.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err *os.File
	// Slow is called once if nothing came from the distribution for some seconds. nil: it is not.
	Slow func()
}

// End is how a distribution's mcp-jail ended.
type End struct {
	Status int
	// Started reports whether it wrote a message, or ended as one that read its command line. Else wsl.exe or
	// the distribution has failed.
	Started bool
	Said    []byte // what came in place of a message
	// Rest is what the client has sent and will send, if it is not Started: it is still to be answered.
	Rest io.Reader
}

const (
	slowAfter = 4 * time.Second
	mostKept  = 1 << 20  // of what the client sends before the first message comes back
	mostHeld  = 64 << 10 // of a line that is not known to be a message
	mostSaid  = 16 << 10
)

// relay starts a command and relays what it reads and writes. The pipe to it ends with this process. So the
// command ends too, however this process does.
func (s Streams) relay(cmd *exec.Cmd) (End, error) {
	to, err := cmd.StdinPipe()
	if err != nil {
		return End{}, err
	}
	in := &replayed{to: to}
	out := &messages{to: s.Out, begin: in.forget}
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		return End{}, err
	}
	go in.copy(s.In) // ends with this process, or with the client
	if s.Slow != nil {
		slow := time.AfterFunc(slowAfter, func() {
			if in.hasSent() && !out.hasBegun() {
				s.Slow()
			}
		})
		defer slow.Stop()
	}
	// A client that goes away is seen by the other side, whose input ends. Wait's error is in the state.
	cmd.Wait()
	out.end() // a client that is gone reads no last line
	end := End{Status: cmd.ProcessState.ExitCode(), Said: out.said}
	end.Started = out.begun || len(out.said) == 0 && end.Status >= 0 && end.Status < missing
	if !end.Started {
		end.Rest = in.rest()
	}
	return end, nil
}

// messages writes what begins with a message. What comes before is no part of MCP: wsl.exe prints its errors
// to the standard output, in UTF-16.
type messages struct {
	mu    sync.Mutex
	to    io.Writer
	begun bool
	begin func() // is called once, before the first message is written
	held  []byte // the beginning of a line that has not ended
	noise bool   // held continues a line that is no message
	said  []byte
}

// Write decides about whole lines, which may come in pieces.
func (m *messages) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begun {
		return m.to.Write(p)
	}
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		m.held = append(m.held, rest[:end]...)
		rest = rest[end:]
		if m.held[len(m.held)-1] != '\n' && len(m.held) < mostHeld {
			break
		}
		if m.decide(); m.begun {
			return len(p), m.pass(rest)
		}
	}
	return len(p), nil
}

// end decides about a last line without an end.
func (m *messages) end() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begun || len(m.held) == 0 {
		return nil
	}
	if m.decide(); m.begun {
		return m.pass(nil)
	}
	return nil
}

// decide takes held for the beginning of all messages, or for what was said.
func (m *messages) decide() {
	zeros := len(m.held) - len(bytes.TrimLeft(m.held, "\x00")) // of a line's end in UTF-16
	if !m.noise && canBeMessage(m.held[zeros:]) {
		m.begun, m.held = true, m.held[zeros:]
		if m.begin != nil {
			m.begin()
		}
		return
	}
	m.said = append(m.said, m.held[:min(len(m.held), mostSaid-len(m.said))]...)
	m.noise = m.held[len(m.held)-1] != '\n'
	m.held = m.held[:0]
}

// pass writes the first message, and what has come after it.
func (m *messages) pass(rest []byte) error {
	_, err := m.to.Write(append(m.held, rest...))
	m.held = nil
	return err
}

// canBeMessage reports whether a line can be a message of MCP. UTF-16 has a zero beside each letter of ASCII,
// and its other letters can have the bytes of a line's end and of a brace.
func canBeMessage(line []byte) bool {
	text := bytes.TrimLeft(line, " \t")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[') && bytes.IndexByte(text, 0) < 0 && (len(line) >= mostHeld || utf8.Valid(text))
}

func (m *messages) hasBegun() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.begun
}

// replayed copies what a client sends, and keeps the beginning, for one who answers in the place of the
// first reader.
type replayed struct {
	mu    sync.Mutex
	to    io.WriteCloser
	kept  []byte
	full  bool // no more is kept
	sent  bool
	begun bool // the client has begun a line that has not ended
	done  bool // the client has ended
}

func (r *replayed) copy(from io.Reader) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		r.mu.Lock()
		to := r.to
		if n > 0 {
			r.keep(buffer[:n])
		}
		r.mu.Unlock()
		if n > 0 {
			to.Write(buffer[:n]) // a reader that is gone shows by its end
		}
		if err != nil {
			r.mu.Lock()
			r.done = true
			r.to.Close()
			r.mu.Unlock()
			return
		}
	}
}

// keep keeps what was read, up to a limit. From there on it keeps nothing, and no part of a line.
func (r *replayed) keep(p []byte) {
	r.sent, r.begun = true, p[len(p)-1] != '\n'
	switch {
	case r.full:
	case len(r.kept)+len(p) <= mostKept:
		r.kept = append(r.kept, p...)
	default:
		r.full = true
		r.kept = r.kept[:bytes.LastIndexByte(r.kept, '\n')+1]
	}
}

// forget is called when nothing of what was sent will be answered in another place.
func (r *replayed) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept, r.full = nil, true
}

func (r *replayed) hasSent() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

// rest returns what the client sent, and from now on what it sends. Where not all is kept, it begins anew
// with a whole line.
func (r *replayed) rest() io.Reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, lost := bytes.NewReader(r.kept), r.full && r.begun
	r.full = true
	if r.done {
		return kept
	}
	reader, writer := io.Pipe()
	r.to = writer
	if lost {
		return io.MultiReader(kept, &afterLine{from: bufio.NewReader(reader)})
	}
	return io.MultiReader(kept, reader)
}

// afterLine reads what comes after the end of a line.
type afterLine struct {
	from *bufio.Reader
	at   bool
}

func (a *afterLine) Read(p []byte) (int, error) {
	for !a.at {
		b, err := a.from.ReadByte()
		if err != nil {
			return 0, err
		}
		a.at = b == '\n'
	}
	return a.from.Read(p)
}
