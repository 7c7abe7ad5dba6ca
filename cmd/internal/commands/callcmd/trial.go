package callcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle"
)

// Trial is one start of a server. Target, Name and Timeout are required.
type Trial struct {
	Target  *session.Target // resolved
	Umask   *int            // of the user, if this process has another: see terminal.Console
	Name    string          // of the command that asks
	Timeout time.Duration   // for all of it
	Slow    func()          // called, in another goroutine, if the server takes longer than a second; may be nil
	Reads   bool            // the jail records refused reads

	all bool // the client gets the tools that are off, too
}

// Failure reports that a server did not list its tools.
type Failure struct {
	Err       error
	Diagnosis *diagnostics.Diagnosis // of the session; nil if it has none
}

func (e *Failure) Error() string { return e.Err.Error() }

func (e *Failure) Unwrap() error { return e.Err }

// Run starts the server, asks it, and waits until it has ended. If the server does not list its
// tools, the error is a *Failure.
func (t Trial) Run(ctx context.Context) (answer *Answer, err error) {
	timed, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	var failed error
	t.all = true // it may be for pins
	record, err := t.Talk(timed, func(from io.Reader, to io.WriteCloser) {
		answer, failed = Ask(timed, t.Name, from, to)
	})
	switch {
	case err != nil:
		return nil, err
	case failed != nil:
		return nil, t.failure(ctx, timed, failed, record)
	}
	return answer, nil
}

// Talk starts the server, and waits until talk, which has the two ends of a client, is done and the server has ended.
// It returns what the session would have on record.
func (t Trial) Talk(ctx context.Context, talk func(from io.Reader, to io.WriteCloser)) (record diagnostics.Record, err error) {
	if err := t.Target.ClaimHome(); err != nil {
		return record, err
	}
	// Two pipes take the place of the streams of a client.
	clientIn, sessionOut, err := os.Pipe()
	if err != nil {
		return record, err
	}
	defer clientIn.Close()
	sessionIn, clientOut, err := os.Pipe()
	if err != nil {
		sessionOut.Close()
		return record, err
	}
	defer clientOut.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return record, errors.Join(err, sessionIn.Close(), sessionOut.Close())
	}
	defer null.Close()

	defer session.LinkHome(t.Target, terminal.New(nil, nil, null))()
	f := t.Target.Follow(terminal.New(nil, nil, null))
	defer f.EndTrial()
	launcher := confine.Launcher{Umask: t.Umask, CertainReads: t.Reads}
	s := f.Session(terminal.New(sessionIn, sessionOut, null), launcher)
	s.Sink = func(r diagnostics.Record) { record = r }
	s.Linger = time.Second
	if t.all {
		s.Switches = nil
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer sessionOut.Close()
		defer sessionIn.Close()
		if !t.Target.Policy.Stateful {
			lifecycle.RunStateless(ctx, s, uncached(f))
			return
		}
		lifecycle.RunStateful(ctx, s)
	}()
	if t.Slow != nil {
		slow := time.AfterFunc(time.Second, t.Slow)
		defer slow.Stop()
	}
	talk(clientIn, clientOut)
	clientOut.Close()
	// A session that cannot write its last messages would not end.
	go io.Copy(io.Discard, clientIn)
	<-ended
	return record, nil
}

func (t Trial) failure(ctx, timed context.Context, err error, record diagnostics.Record) error {
	f := &Failure{Err: err}
	switch {
	case ctx.Err() != nil:
		f.Err = fmt.Errorf("it was ended before it had listed its tools: %w", ctx.Err())
		return f
	case timed.Err() != nil:
		f.Err = fmt.Errorf("the server did not list its tools within %v s", t.Timeout.Seconds())
	}
	if n := len(record.Diagnoses); n > 0 {
		// Take the diagnosis from the record: a server could forge an error response.
		f.Diagnosis = &record.Diagnoses[n-1]
		f.Err = errors.New(f.Diagnosis.Summary())
	}
	return f
}

// uncached returns the options of a stateless session that asks the server itself: without the
// cached tool list of an earlier session and without warm processes.
func uncached(f *session.Followed) lifecycle.Stateless {
	o := f.StatelessOptions()
	o.Lists, o.Warm, o.Declared = "", nil, nil
	return o
}
