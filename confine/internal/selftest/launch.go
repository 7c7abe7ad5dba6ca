//go:build darwin || linux

package selftest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/attempt"
)

// A job is one process that makes attempts.
type job struct {
	group   Group
	inside  bool
	program string
	args    []string
	tries   []attempt.Try
}

// An answer is what came of a job.
type answer struct {
	got map[int]string // of each attempt that was answered
	// end says how the process ended, if it did not answer as it should.
	end    string
	status int    // of the process, -1 if it has none
	said   string // on its standard error
}

const (
	maxAnswer = 1 << 20
	maxSaid   = 4 << 10
)

// perform starts the process of a job and reads its outcomes. When it returns, the process has ended.
func perform(ctx context.Context, j job) answer {
	a := answer{got: map[int]string{}, status: -1}
	cmd := exec.CommandContext(ctx, j.program, j.args...)
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	said := &limited{most: maxSaid}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		a.end = err.Error()
		return a
	}
	out, inherited, err := os.Pipe()
	if err != nil {
		a.end = err.Error()
		return a
	}
	defer out.Close()
	cmd.ExtraFiles = []*os.File{inherited} // attempt.Outcomes
	err = cmd.Start()
	inherited.Close()
	if err != nil {
		a.end = err.Error()
		return a
	}
	stop := context.AfterFunc(ctx, func() { out.SetReadDeadline(time.Now()) })
	defer stop()
	go json.NewEncoder(in).Encode(j.tries)
	a.read(out, j.tries)
	if a.end != "" {
		cmd.Cancel()
	}
	in.Close()
	err = cmd.Wait()
	cmd.Cancel() // what it has started
	a.said, a.status = said.text.String(), cmd.ProcessState.ExitCode()
	switch {
	case ctx.Err() != nil:
		a.end = "it did not end in time"
	case a.end == "" && err != nil:
		a.end = err.Error()
	}
	return a
}

// read takes one outcome a line. After a line that is none, nothing counts.
func (a *answer) read(out io.Reader, tries []attempt.Try) {
	asked := map[int]bool{}
	for _, t := range tries {
		asked[t.N] = true
	}
	lines := bufio.NewScanner(io.LimitReader(out, maxAnswer))
	for lines.Scan() {
		var o attempt.Outcome
		d := json.NewDecoder(strings.NewReader(lines.Text()))
		d.DisallowUnknownFields()
		if d.Decode(&o) != nil || d.More() || !asked[o.N] || o.Got == "" {
			a.void()
			return
		}
		if first, twice := a.got[o.N]; twice {
			o.Got = fmt.Sprintf("two outcomes: %s and %s", first, o.Got)
		}
		a.got[o.N] = o.Got
	}
	if err := lines.Err(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		a.void()
	}
}

func (a *answer) void() {
	clear(a.got)
	a.end = "it wrote what is no outcome"
}

// limited keeps the beginning of what is written to it.
type limited struct {
	text strings.Builder
	most int
}

func (l *limited) Write(b []byte) (int, error) {
	l.text.Write(b[:min(len(b), l.most-l.text.Len())])
	return len(b), nil
}
