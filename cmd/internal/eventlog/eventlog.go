// Package eventlog writes and reads what a server did: a file of JSON lines beside its state, which the server cannot see.
//
//   - [New] returns the Log of one session, or of one command that grants something. [Log.Event] begins a line.
//   - [Read] returns the lines of a server.
//
// The names of members are those of OpenTelemetry's conventions for MCP where these have one. A reader ignores members
// that it does not know; [Schema] changes if one of them gets another meaning.
//
// # Bounds
//
// A line has at most 4 KiB, and a text in it 200 bytes. A session has 600 lines at once, and then ten a second. Lines
// beyond that are counted. At 4 MiB a file makes room for the next one, and one older file is kept.
//
// # Limits
//
//   - Lines are written once a second: a kill loses those of the last one. Nothing is synced.
//   - The user, and every program that runs as the user, can change and remove the files.
//   - A text has no value of a secret variable, in the forms of package leak. The labels of a host's name can carry a
//     secret in pieces.
package eventlog

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Schema is the version of the lines.
const Schema = 1

// The files of a server.
const (
	File    = "log.jsonl"
	oldFile = "log.1.jsonl"
)

const (
	maxLine  = 4 << 10
	maxText  = 200
	maxRules = 8 // of one grant in a line, in which JSON can double each text
	maxFile  = 4 << 20
	burst    = 600 // lines of a session, and then perSecond
	// of them; both bound what a server can push out of the files.
	perSecond = 10
)

// Log is that of one session. All methods but Flush are safe for concurrent use.
type Log struct {
	// Open opens the directory of the server's files. nil writes no file.
	Open func() (*private.Dir, error)
	// Report gets each line at once, and returns false if it cannot be taken. It may be nil.
	Report func(line []byte) bool
	// Redact returns a text without secrets.
	Redact func(string) string

	session string
	log     zerolog.Logger
	tokens  *rate.Limiter
	omitted atomic.Int64

	mu    sync.Mutex
	lines []byte // to be written
}

// New returns a Log that writes nowhere yet.
func New() *Log {
	l := &Log{session: strings.ToLower(rand.Text()), tokens: rate.NewLimiter(perSecond, burst)}
	l.log = zerolog.New(writer{l})
	return l
}

// Event begins a line; Send of it ends it. It returns nil, of which all methods do nothing, if there are too many.
func (l *Log) Event(name string) *zerolog.Event {
	if !l.tokens.Allow() {
		l.Omit(1)
		return nil
	}
	return l.Always(name)
}

// Always is Event for a line that is never one too many.
func (l *Log) Always(name string) *zerolog.Event {
	if l.Open == nil && l.Report == nil {
		return nil
	}
	return l.log.Log().Str("time", time.Now().UTC().Format("2006-01-02T15:04:05.000Z")).Str("event", name).Str("mcp.session.id", l.session)
}

// Text returns a text of others as a line may have it.
func (l *Log) Text(s string) string {
	if l.Redact != nil {
		s = l.Redact(s)
	}
	return show.Cut(show.Line(s), maxText)
}

// Omit counts lines that are missing.
func (l *Log) Omit(lines int) { l.omitted.Add(int64(lines)) }

// Omitted returns how many lines are missing.
func (l *Log) Omitted() int { return int(l.omitted.Load()) }

// writer gets whole lines.
type writer struct{ *Log }

// Write implements io.Writer.
func (l writer) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fits := len(line) <= maxLine
	lost := !fits || l.Report != nil && !l.Report(line) || l.Open != nil && len(l.lines) >= maxFile
	if fits && l.Open != nil && len(l.lines) < maxFile {
		l.lines = append(l.lines, line...)
	}
	if lost {
		l.Omit(1)
	}
	return len(line), nil
}

// Flush writes what there is. Lines that cannot be written are counted. If others write for too long, the lines wait for
// the next Flush.
func (l *Log) Flush() error {
	l.mu.Lock()
	lines := l.lines
	l.lines = nil
	l.mu.Unlock()
	if len(lines) == 0 {
		return nil
	}
	err := l.append(lines)
	if errors.Is(err, private.ErrLocked) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(lines, l.lines...)
		return nil
	}
	if err != nil {
		l.Omit(bytes.Count(lines, []byte{'\n'}))
	}
	return err
}

func (l *Log) append(lines []byte) error {
	dir, err := l.Open()
	if err != nil {
		return err
	}
	defer dir.Close()
	for range 200 {
		again, err := l.appendOnce(dir, lines)
		if !again && !errors.Is(err, private.ErrLocked) {
			return err
		}
		time.Sleep(time.Millisecond) // others write, or have moved the file
	}
	return private.ErrLocked
}

// appendOnce appends lines to the file. again says that the file has become the older one.
func (l *Log) appendOnce(dir *private.Dir, lines []byte) (again bool, err error) {
	f, err := dir.OpenFile(File, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := private.LockFile(f); err != nil {
		return false, err
	}
	named, err := dir.Lstat(File)
	opened, statErr := f.Stat()
	switch {
	case err != nil || statErr != nil || !os.SameFile(named, opened):
		return true, nil
	case opened.Size() > 0 && opened.Size()+int64(len(lines)) >= maxFile:
		err := dir.Rename(File, oldFile)
		return err == nil, err
	}
	// A full disk can have left a line of any session without its end.
	last := []byte{'\n'}
	if size := opened.Size(); size > 0 {
		if _, err := f.ReadAt(last, size-1); err != nil {
			return false, err
		}
	}
	if last[0] != '\n' {
		lines = append([]byte{'\n'}, lines...)
	}
	_, err = f.Write(lines)
	return false, err
}

// Read returns the lines of a server, the oldest first. A full disk can have cut some off.
func Read(dir *private.Dir) (lines [][]byte, err error) {
	for _, name := range []string{oldFile, File} {
		text, fileErr := dir.ReadFile(name, 2*maxFile)
		if fileErr != nil && !errors.Is(fileErr, os.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, fileErr))
		}
		for line := range bytes.Lines(text) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				lines = append(lines, line)
			}
		}
	}
	return lines, err
}

// Granted writes down a grant, or what was taken back: the command, its rules, and whether the command had a terminal.
// parent is the program that has started this one. Many rules make several lines.
func (l *Log) Granted(by string, taken bool, rules []string, terminal bool) {
	for some := range slices.Chunk(rules, maxRules) {
		words := make([]string, len(some))
		for i, r := range some {
			words[i] = l.Text(r)
		}
		e := l.Event("grant").Str("by", by).Bool("taken", taken).Strs("rules", words).Bool("terminal", terminal)
		if parent, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", os.Getppid())); err == nil {
			e = e.Str("parent", l.Text(filepath.Base(parent)))
		}
		e.Send()
	}
}
