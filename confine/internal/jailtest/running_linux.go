package jailtest

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Started is a running jail. Errs collects its stderr and Out its stdout. Ends waits until no
// process holds stdout or stderr.
type Started struct {
	*confine.Process
	T    *testing.T
	Errs *Output
	Out  *Output
	Ends func()
}

// Begin starts a jail whose program makes the attempts, and returns while it runs.
func Begin(t *testing.T, p *policy.Profile, attempts ...attacker.Attempt) *Started {
	t.Helper()
	return BeginBy(t, confine.Launcher{}, p, attempts...)
}

// BeginBy is Begin with a launcher.
func BeginBy(t *testing.T, l confine.Launcher, p *policy.Profile, attempts ...attacker.Attempt) *Started {
	t.Helper()
	s := &Started{T: t, Errs: &Output{}, Out: &Output{}}
	var err error
	if s.Process, s.Ends, err = Start(t, l, Asking(t, p, attempts...), s.Out, s.Errs); err != nil {
		t.Fatal(err)
	}
	return s
}

// Finish waits until the jail has ended and no process holds its stdout or stderr.
func (s *Started) Finish() confine.Exit {
	s.T.Helper()
	exit, err := s.Wait()
	if err != nil {
		s.T.Error(err)
	}
	Within(s.T, "the end of every process of the jail", s.Ends)
	return exit
}

// Within waits until f returns, and fails the test if that takes longer than
// testkit.Patience.
func Within(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
	case <-time.After(testkit.Patience):
		t.Fatalf("after %v still not: %s", testkit.Patience, what)
	}
}

// Output is a writer that collects output, so that a test can wait for a part of it. Mu guards
// Text.
type Output struct {
	Mu   sync.Mutex
	Text string
}

func (l *Output) Write(b []byte) (int, error) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.Text += string(b)
	return len(b), nil
}

func (l *Output) String() string {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.Text
}

func (l *Output) Bytes() []byte { return []byte(l.String()) }

// Count returns how often text is in the output.
func (l *Output) Count(text string) int {
	return strings.Count(l.String(), text)
}

// Await waits until text is in the output.
func (l *Output) Await(t testing.TB, text string) {
	t.Helper()
	testkit.Eventually(t, "the output has "+text, func() bool { return l.Count(text) > 0 })
}
