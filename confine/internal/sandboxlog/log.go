package sandboxlog

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	program = "/usr/bin/log"
	patient = 1500 * time.Millisecond // how long the answer may take
	back    = 60 * time.Second        // how far back is asked
	maxRead = 4 << 20                 // bytes of an answer
	admin   = 80                      // the group that may read the log
)

// Log is what is known of the refusals of one sandbox.
type Log struct {
	tag     string
	program string

	asking sync.Mutex // one question at a time
	mu     sync.Mutex
	found  []policy.Denial
}

// New returns the Log of the sandbox whose profile has the tag.
func New(tag string) *Log {
	file, _ := location()
	return &Log{tag: tag, program: file}
}

// Denials returns what Ask has found so far. It asks nothing.
func (l *Log) Denials() []policy.Denial {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.found)
}

// Ask asks the log of the system what was refused since a time. It takes up to a second and a half.
// It finds nothing where the log cannot be read.
func (l *Log) Ask(ctx context.Context, since time.Time) {
	if l == nil || Available() != nil {
		return
	}
	l.ask(ctx, since)
}

func (l *Log) ask(ctx context.Context, since time.Time) {
	l.asking.Lock()
	defer l.asking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	last := min(max(time.Since(since), 0), back).Truncate(time.Second) + 2*time.Second
	c := exec.CommandContext(ctx, l.program, arguments(l.tag, last)...)
	c.Env, c.Dir = []string{"PATH=/usr/bin:/bin", "LANG=C"}, "/"
	output := &bounded{}
	c.Stdout = output
	c.WaitDelay = patient / 10
	if c.Run() != nil {
		return // what came before the time was over may end in the middle of a line, which Parse skips
	}
	l.merge(Parse(output.Bytes(), l.tag))
}

// arguments are those of log. The predicate has the tag only, which has no quote in it. Process 0
// is the kernel.
func arguments(tag string, last time.Duration) []string {
	return []string{"show", "--style", "ndjson", "--last", strconv.Itoa(int(last/time.Second)) + "s",
		"--predicate", `processID == 0 AND sender == "Sandbox" AND eventMessage CONTAINS "` + tag + `"`}
}

// merge adds denials that are not known yet, and counts those that are. Two questions can find the
// same line: the later count is then the larger one.
func (l *Log) merge(all []policy.Denial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range all {
		at := slices.IndexFunc(l.found, func(o policy.Denial) bool {
			return o.Axis == d.Axis && o.Operation == d.Operation && o.Target == d.Target && o.Program == d.Program
		})
		switch {
		case at < 0 && len(l.found) < maxDenials:
			l.found = append(l.found, d)
		case at >= 0 && d.Latest().After(l.found[at].Latest()):
			o := &l.found[at]
			if d.Time.After(o.Latest()) {
				o.Count += d.Count
			} else {
				o.Count = max(o.Count, d.Count)
			}
			o.Last, o.PID = d.Latest(), d.PID
		}
	}
}

// Available returns why the log of the system cannot be read, or nil. It starts nothing.
func Available() error {
	file, all := location()
	if _, err := os.Stat(file); err != nil {
		return errors.New(file + " is missing")
	}
	groups, err := os.Getgroups()
	if err != nil {
		return err
	}
	if !all && os.Getuid() != 0 && !slices.Contains(groups, admin) {
		return errors.New("only administrators of this Mac may read the log of the system")
	}
	return nil
}

// bounded keeps the first bytes that are written to it.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := maxRead - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
