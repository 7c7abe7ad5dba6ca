package session

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// lostAnswers keeps why the answers to some open requests did not arrive as such. The server
// believes that it has answered, so nothing else may come. A later answer is better all the same: a
// log can have the words of an answer, too.
type lostAnswers struct {
	server *Server
	frames atomic.Int64 // that the process has written, messages or not

	mu      sync.Mutex
	why     map[string]string // by mcpproxy.IDKey of the request
	answers []func()          // to be called when the process is silent
	watched bool              // a goroutine waits for that
}

const maxLost = 64 // requests

// Heard counts what the process writes. While it writes, it may still answer.
func (l *lostAnswers) Heard() { l.frames.Add(1) }

// Note notes why the answer to an open request did not arrive as such. If no client can take the answer,
// it has answer called when the process has been silent for a second: the request may be answered by
// then. answer is nil if the client has got the answer all the same. Only a task of the session may call Note.
func (l *lostAnswers) Note(id []byte, why string, answer func()) {
	s, key := l.server, mcpproxy.IDKey(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil || len(l.why) == maxLost {
		l.why = map[string]string{}
	}
	if l.why[key] = why; answer == nil || len(l.answers) == maxLost {
		return
	}
	l.answers = append(l.answers, answer)
	if proc := s.Processes.now(); !l.watched && proc != nil {
		l.watched = true
		s.Client.Tasks.Go(func() {
			silent := l.waitForSilence(proc)
			l.mu.Lock()
			answers := l.answers
			l.answers, l.watched = nil, false
			l.mu.Unlock()
			for _, answer := range answers {
				if silent {
					answer()
				}
			}
		})
	}
}

// waitForSilence returns false if the process ends first, which answers its requests.
func (l *lostAnswers) waitForSilence(proc Process) bool {
	for before := int64(-1); before != l.frames.Load(); {
		before = l.frames.Load()
		select {
		case <-proc.Done():
			return false
		case <-l.server.Client.Shutdown.Done:
			return false
		case <-time.After(l.server.Client.Times.Silence):
		}
	}
	return true
}

// Diagnosis returns the diagnosis of an open request whose answer was lost. ok is false for others.
func (l *lostAnswers) Diagnosis(id []byte, tool string) (d diagnostics.Diagnosis, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	why, ok := l.why[mcpproxy.IDKey(id)]
	return Refusal(-32603, diagnostics.PageStdout, l.server.Profile.Server, tool, why, "have the server answer on one line, with the id of the request as it came, and print other text to stderr"), ok
}

// DiagnoseCall is Lost.Diagnosis, or else Diagnose.
func (s *Server) DiagnoseCall(c *mcpproxy.Call, ev diagnostics.Evidence) diagnostics.Diagnosis {
	if lost, ok := s.Lost.Diagnosis(c.ID, string(c.Tool)); ok {
		return s.Announce(lost)
	}
	d := s.Diagnose(ev)
	d.Asked = s.Client.Questions.refused(s, d)
	s.Client.WarnRefused(d, c)
	return d
}

// MeantID returns which open request an answer with another id is meant for, or nil: the one whose id
// is the same text or, if alone is set, the only one. Some servers answer notifications, with an error,
// or with an empty result and without an id. So an error does not count then, and a result without an
// id only if it has content.
func MeantID(e *mcpproxy.Envelope, open [][]byte, alone bool) []byte {
	for _, id := range open {
		if e.Trackable() && mcpproxy.SameText(e.ID, id) {
			return id
		}
	}
	if alone && len(open) == 1 && (e.Content.Present() || e.Trackable() && e.Result.Present()) {
		return open[0]
	}
	return nil
}

// MixedLine says that an answer is after other text on its line.
func MixedLine(redact *diagnostics.Redactor, f, ending *mcpproxy.Frame) string {
	line := f.Bytes()
	before := strings.TrimSpace(string(line[:max(0, strings.Index(string(line), string(ending.Bytes())))]))
	if len(before) > 60 {
		before = strings.ToValidUTF8(before[:60], "") + "…"
	}
	return fmt.Sprintf("its answer is after other text on one line of stdout, %s, so that no client can read it", show.Quote(redact.Redact(before)))
}

// OtherID says that an answer has another id than the request.
func OtherID(answered, asked []byte) string {
	const most = 40
	cut := func(id []byte) string {
		if len(id) > most {
			return show.Line(strings.ToValidUTF8(string(id[:most]), "")) + "…"
		}
		return show.Line(string(id))
	}
	if answered == nil {
		return fmt.Sprintf("it answered without an id, and the request has the id %s", cut(asked))
	}
	text := fmt.Sprintf("it answered with the id %s, and the request has the id %s", cut(answered), cut(asked))
	if mcpproxy.SameText(answered, asked) {
		text += ": in JSON-RPC a number and a string are two ids"
	}
	return text
}
