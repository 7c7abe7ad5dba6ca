package jailtest

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Started is a jail that runs, with what it says on stderr.
type Started struct {
	*confine.Process
	T    *testing.T
	Errs *Output
	Out  *bytes.Buffer
	Ends func()
}

func Begin(t *testing.T, p *policy.Profile, attempts ...attacker.Attempt) *Started {
	t.Helper()
	return BeginBy(t, confine.Launcher{}, p, attempts...)
}

func BeginBy(t *testing.T, l confine.Launcher, p *policy.Profile, attempts ...attacker.Attempt) *Started {
	t.Helper()
	q := *p
	q.Argv = append(q.Argv[:1:1], Args(t, attempts)...)
	s := &Started{T: t, Errs: NewOutput(), Out: &bytes.Buffer{}}
	var err error
	if s.Process, s.Ends, err = Start(t, l, &q, s.Out, s.Errs); err != nil {
		t.Fatal(err)
	}
	return s
}

// Finish waits until everything that held a descriptor of the jail is gone.
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

// Output collects output and lets a test wait for it.
type Output struct {
	Mu   sync.Mutex
	Text string
	more chan struct{}
}

func NewOutput() *Output { return &Output{more: make(chan struct{}, 100)} }

func (l *Output) Write(b []byte) (int, error) {
	l.Mu.Lock()
	l.Text += string(b)
	l.Mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (l *Output) Count(text string) int {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return strings.Count(l.Text, text)
}

func (l *Output) Await(t testing.TB, text string) {
	t.Helper()
	testkit.Eventually(t, "stderr has "+text, func() bool {
		l.Mu.Lock()
		defer l.Mu.Unlock()
		return strings.Contains(l.Text, text)
	})
}
