package wsl

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
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
	mostKept  = 1 << 20 // of what the client sends before the first message comes back
	mostSaid  = 16 << 10
)

// relay starts a command and relays what it reads and writes. The pipe to it ends with this process. So the
// command ends too, however this process does.
func (s Streams) relay(cmd *exec.Cmd) (End, error) {
	to, err := cmd.StdinPipe()
	if err != nil {
		return End{}, err
	}
	in, out := &replayed{to: to}, &messages{to: s.Out}
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
	said  []byte
}

func (m *messages) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.begun {
		at := firstMessage(p)
		m.said = append(m.said, p[:min(at, max(0, mostSaid-len(m.said)))]...)
		if at == len(p) {
			return len(p), nil
		}
		m.begun = true
		n, err := m.to.Write(p[at:])
		return at + n, err
	}
	return m.to.Write(p)
}

// firstMessage returns where the first line begins that can be a message, or the length of p. A brace in
// UTF-16 has a zero after it.
func firstMessage(p []byte) int {
	for at := 0; at < len(p); {
		line := bytes.TrimLeft(p[at:], " \t")
		if len(line) > 0 && (line[0] == '{' || line[0] == '[') && (len(line) == 1 || line[1] != 0) {
			return at
		}
		end := bytes.IndexByte(p[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	return len(p)
}

func (m *messages) hasBegun() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.begun
}

// replayed copies what a client sends, and keeps the beginning, for one who answers in the place of the
// first reader.
type replayed struct {
	mu   sync.Mutex
	to   io.WriteCloser
	kept bytes.Buffer
	sent bool
	done bool // the client has ended
}

func (r *replayed) copy(from io.Reader) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		r.mu.Lock()
		to := r.to
		if n > 0 {
			if r.sent = true; r.kept.Len()+n <= mostKept {
				r.kept.Write(buffer[:n])
			}
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

func (r *replayed) hasSent() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

// rest returns what the client sent, and from now on what it sends.
func (r *replayed) rest() io.Reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := bytes.NewReader(bytes.Clone(r.kept.Bytes()))
	if r.done {
		return kept
	}
	reader, writer := io.Pipe()
	r.to = writer
	return io.MultiReader(kept, reader)
}
