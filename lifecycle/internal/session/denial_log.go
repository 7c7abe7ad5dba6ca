package session

import (
	"context"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
)

// DenialAsker is a Process whose jail refuses without telling. AskDenials asks the system's log what
// was refused since a time, which takes up to two seconds. Denials then returns that, too.
type DenialAsker interface {
	AskDenials(ctx context.Context, since time.Time)
}

// AskDenials has the process look for refusals since a time, if its jail does not tell of them. It
// is for a server that has ended, since it may take two seconds.
func (s *Server) AskDenials(since time.Time) {
	if asker, ok := s.Processes.now().(DenialAsker); ok {
		asker.AskDenials(context.Background(), since)
	}
}

// askLater does the same for a server that runs, beside the messages. The answer that failed has gone
// out by then: what is found is in the record. While one question is open no other begins. The next
// one also asks about that time.
func (s *Server) askLater(ev *diagnostics.Evidence, d *diagnostics.Diagnosis, since time.Time) {
	asker, ok := s.Processes.now().(DenialAsker)
	if !ok || d.Attribution == diagnostics.Certain || !diagnostics.MayBeRefused(ev) || !s.asking.CompareAndSwap(false, true) {
		return
	}
	if s.unasked.Before(since) && !s.unasked.IsZero() {
		since = s.unasked
	}
	s.unasked = time.Now()
	s.Client.Tasks.Go(func() {
		defer s.asking.Store(false)
		asker.AskDenials(context.Background(), since)
		s.Client.recordChanged()
	})
}
