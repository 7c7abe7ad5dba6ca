package answers

import (
	"bytes"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/clientinfo"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// Stale are answers to one client that are to be asked for again: the client got them from an
// earlier session, or the server has sent list_changed. Names are their methods.
type Stale struct {
	Names []string
	cache *Cache
	entry *entry
}

// TakeStale returns the stale answers to a client. No other caller gets them. A list_changed makes
// answers stale at most once in each pause.
func (l *Cache) TakeStale(info *clientinfo.Info, pause time.Duration) *Stale {
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entryFor(info)
	entry.markAllStale(time.Now(), pause)
	stale := &Stale{entry.stale, l, entry}
	entry.stale = nil
	return stale
}

// Apply replaces a kept answer by the server's answer of now, or removes it if that is nil
// or must not be kept. It reports whether the two answers differ.
func (s *Stale) Apply(method string, answer *mcpproxy.Frame) (changed bool) {
	l, entry := s.cache, s.entry
	l.mu.Lock()
	defer l.mu.Unlock()
	before, ok := entry.answers[method]
	var k kept
	keep := false
	if answer != nil && answer.Messages[0].Result.Present() {
		k = newKept(answer.Slice(answer.Messages[0].Result), 0)
		k.TTL, keep = lifetime(k.Result)
	}
	same := ok && bytes.Equal(before.Result, k.Result)
	switch {
	case keep && same:
		entry.answers[method] = k // only in memory: in the file the answer keeps its age, and expires
	case keep:
		l.set(entry, method, k)
	default:
		delete(entry.answers, method)
		l.saveSoon(entry)
	}
	return !same
}

// NoteChanged notes a list_changed of the server, and reports whether the answers are stale by it now.
func (l *Cache) NoteChanged(info *clientinfo.Info, pause time.Duration) (now bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entryFor(info)
	entry.changed = true
	return time.Since(entry.rechecked) >= pause
}

func (e *entry) markAllStale(now time.Time, pause time.Duration) {
	if !e.changed || now.Sub(e.rechecked) < pause {
		return
	}
	e.changed, e.rechecked = false, now
	for method := range e.answers {
		if IsList(method) {
			e.markStale(method)
		}
	}
}
