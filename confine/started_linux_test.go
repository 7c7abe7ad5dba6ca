package confine

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// started is a jail that runs, with what it says on stderr.
type started struct {
	*Process
	t    *testing.T
	errs *lines
	out  *bytes.Buffer
	ends func()
}

func begin(t *testing.T, p *policy.Profile, attempts ...attempt) *started {
	t.Helper()
	return beginWith(t, Launcher{}, p, attempts...)
}

func beginWith(t *testing.T, l Launcher, p *policy.Profile, attempts ...attempt) *started {
	t.Helper()
	q := *p
	q.Argv = append(q.Argv[:1:1], probeArgs(t, attempts)...)
	s := &started{t: t, errs: newLines(), out: &bytes.Buffer{}}
	var err error
	if s.Process, s.ends, err = startJail(t, l, &q, s.out, s.errs); err != nil {
		t.Fatal(err)
	}
	return s
}

// finish waits until everything that held a descriptor of the jail is gone.
func (s *started) finish() Exit {
	s.t.Helper()
	exit, err := s.Wait()
	if err != nil {
		s.t.Error(err)
	}
	within(s.t, "the end of every process of the jail", s.ends)
	return exit
}

func within(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatalf("after ten seconds still not: %s", what)
	}
}

// lines collects output and lets a test wait for it.
type lines struct {
	mu   sync.Mutex
	text string
	more chan struct{}
}

func newLines() *lines { return &lines{more: make(chan struct{}, 100)} }

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	l.text += string(b)
	l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text, text)
}

func (l *lines) await(t testing.TB, text string) {
	t.Helper()
	testkit.Eventually(t, "stderr has "+text, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return strings.Contains(l.text, text)
	})
}
