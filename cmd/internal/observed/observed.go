// Package observed keeps what watched sessions have observed of a server (policy.Observation): one file a
// session, with one JSON object a line. mcp-jail run --learn writes them, mcp-jail learn and why
// read them. They are beside the record of the server, where the server cannot see them.
//
// A file begins with a Head. It is written while the session runs, so what was observed before a session
// was killed is there, but for the last moment.
package observed

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

const (
	version = 1
	dirName = "observed"
	suffix  = ".jsonl"

	maxSessions = 20      // of one server: the oldest are removed
	maxBytes    = 8 << 20 // of one session
	maxKinds    = 20000   // of different observations in one session
	flushEvery  = 200 * time.Millisecond
)

// Head says under what a session was watched.
type Head struct {
	Version int       `json:"observed"`
	PID     int       `json:"pid"` // of mcp-jail
	Began   time.Time `json:"began"`
	Learns  bool      `json:"learns,omitempty"` // false: a session of run --try
	Lesson  bool      `json:"lesson,omitempty"` // it is a round of mcp-jail learn
	Hosts   []string  `json:"hosts,omitempty"`  // that could be reached in a session that learns
	Policy  string    `json:"policy,omitempty"` // that is tried, as it is shown
	Digest  string    `json:"digest,omitempty"` // of the policy that is tried
	// Unseen are remarks about what could not be observed on this host.
	Unseen []string `json:"unseen,omitempty"`
}

// line is what stands on a line after the head.
type line struct {
	*policy.Observation
	// Left is how many observations are not in the file, because there were too many.
	Left int `json:"left,omitempty"`
	// Refusal is what a policy that is tried would have refused.
	Refusal *diagnostics.Refusal `json:"refusal,omitempty"`
	// Unjudged is why that policy could not be asked about something.
	Unjudged string `json:"unjudged,omitempty"`
}

// Session is what one session observed.
type Session struct {
	Head
	Observations []policy.Observation
	Left         int
	Refusals     []diagnostics.Refusal // of a policy that is tried
	Unjudged     []string              // reasons why it could not be asked
}

// Writer keeps the observations of a session that runs. Its methods may be called by several goroutines.
type Writer struct {
	file *os.File

	mu      sync.Mutex
	seen    map[string]bool
	pending bytes.Buffer
	written int
	left    int
	closed  bool
	timer   *time.Timer
	err     error
}

// Create begins the file of a session of a server.
func Create(host hostfs.Host, server string, h Head) (*Writer, error) {
	dir, err := private.Make(host.StateDir, below(server))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	h.Version, h.PID, h.Began = version, os.Getpid(), time.Now()
	name := fmt.Sprintf("%s-%d%s", h.Began.UTC().Format("20060102T150405.000000"), h.PID, suffix)
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	expire(dir)
	w := &Writer{file: f, seen: map[string]bool{}}
	w.put(h)
	w.flush()
	if w.err != nil {
		f.Close()
		return nil, w.err
	}
	return w, nil
}

func below(server string) string { return filepath.Join("servers", server, dirName) }

// expire removes the oldest files, so that maxSessions are left.
func expire(dir *private.Dir) {
	names := sessionNames(dir)
	for _, name := range names[:max(0, len(names)-maxSessions)] {
		dir.Root().Remove(name)
	}
}

// sessionNames returns the names of the files, the oldest first.
func sessionNames(dir *private.Dir) (names []string) {
	all, err := dir.Names()
	if err != nil {
		return nil
	}
	for _, e := range all {
		if strings.HasSuffix(e.Name(), suffix) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// Process is one process of a session. What it did before its first call belongs to no tool: processes of other
// calls may have begun before.
type Process struct {
	w    *Writer
	tool atomic.Pointer[string]
}

// Process returns what keeps the observations of a process.
func (w *Writer) Process() *Process { return &Process{w: w} }

// CallBegins says that from here on the process works on a call of a tool.
func (p *Process) CallBegins(tool string) { p.tool.Store(&tool) }

// Observe keeps an observation, with the tool whose call began last in this process.
func (p *Process) Observe(o policy.Observation) {
	if tool := p.tool.Load(); o.Tool == "" && tool != nil {
		o.Tool = *tool
	}
	p.w.observe(o)
}

// observe keeps an observation. One that is there already, for the same tool, is not kept again.
func (w *Writer) observe(o policy.Observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%q\x00%s\x00%s\x00%t%t", o.Axis, o.Operation, o.Target, o.Tool, o.Arguments, o.Scheme, o.Request, o.Refused, o.Absent)
	switch {
	case w.closed, w.seen[key]:
		return
	case len(w.seen) >= maxKinds, w.written+w.pending.Len() >= maxBytes:
		w.left++
		return
	}
	w.seen[key] = true
	w.add(line{Observation: &o})
}

var errFull = errors.New("the file of what was observed is full")

// AddRefusal keeps what a policy that is tried would have refused.
func (w *Writer) AddRefusal(r diagnostics.Refusal) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.written+w.pending.Len() >= maxBytes {
		return errFull
	}
	r.Line, r.Declare, r.Stderr = nil, nil, nil
	w.add(line{Refusal: &r})
	return nil
}

// Unjudged keeps why a policy that is tried could not be asked about something, each reason once.
func (w *Writer) Unjudged(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if key := "\x00" + why; !w.closed && !w.seen[key] && len(w.seen) < maxKinds {
		w.seen[key] = true
		w.add(line{Unjudged: why})
	}
}

// Leave says that n observations are not in the file.
func (w *Writer) Leave(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left += n
}

// add adds a line, which is written soon. The caller holds w.mu.
func (w *Writer) add(l line) {
	w.put(l)
	if w.timer == nil {
		w.timer = time.AfterFunc(flushEvery, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.timer = nil
			w.flush()
		})
	}
}

// put adds a line to those that are not written yet. The caller holds w.mu.
func (w *Writer) put(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		w.err = errors.Join(w.err, err)
		return
	}
	w.pending.Write(append(b, '\n'))
}

// flush writes what is pending. The caller holds w.mu.
func (w *Writer) flush() {
	if w.closed || w.pending.Len() == 0 || w.err != nil {
		return
	}
	n, err := w.file.Write(w.pending.Bytes())
	w.written += n
	w.err = err
	w.pending.Reset()
}

// Close writes the rest and closes the file. The error tells why some observations are not in it.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.err
	}
	if w.left > 0 {
		w.put(line{Left: w.left})
	}
	w.flush()
	w.closed = true
	return errors.Join(w.err, w.file.Close())
}

// Sessions returns the watched sessions of a server, the oldest first. There is no error if there are none.
func Sessions(host hostfs.Host, server string) (all []Session, err error) {
	dir, err := private.Open(host.StateDir, below(server))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for _, name := range sessionNames(dir) {
		b, err := dir.ReadFile(name, 2*maxBytes)
		if err != nil {
			return all, err
		}
		if s, ok := read(b); ok {
			all = append(all, s)
		}
	}
	return all, nil
}

// OfProcess returns the latest session that a process of mcp-jail has kept.
func OfProcess(host hostfs.Host, server string, pid int) (Session, bool) {
	all, err := Sessions(host, server)
	if err != nil {
		return Session{}, false
	}
	for _, s := range slices.Backward(all) {
		if s.PID == pid {
			return s, true
		}
	}
	return Session{}, false
}

// read reads a file. Lines that cannot be read, as the last one of a session that was killed, are left out.
func read(b []byte) (s Session, ok bool) {
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, maxBytes)
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &s.Head) != nil || s.Version != version {
		return s, false
	}
	for lines.Scan() {
		l := line{Observation: &policy.Observation{}}
		if json.Unmarshal(lines.Bytes(), &l) != nil {
			continue
		}
		if l.Refusal != nil {
			s.Refusals = append(s.Refusals, *l.Refusal)
		}
		if l.Unjudged != "" {
			s.Unjudged = append(s.Unjudged, l.Unjudged)
		}
		if s.Left += l.Left; l.Operation != "" {
			s.Observations = append(s.Observations, *l.Observation)
		}
	}
	return s, true
}
