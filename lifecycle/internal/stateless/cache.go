package stateless

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/catalog"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/clientinfo"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// listCache holds the server's answers to a client's handshake and to requests for lists, from
// this session or an earlier one.
type listCache struct {
	session *statelessSession

	mu           sync.Mutex
	entries      map[string]*cacheEntry
	tools        map[string]bool // every tool that was ever listed: clients remember them
	taskTools    map[string]bool // whether a tool answers with tasks only, in the legacy era
	partialTools []string        // tools of the list that is being read; nil without its first page
	logging      bool            // the server has the capability logging
	generation   int             // grows with each reset
}

// cacheEntry holds the answers to one client.
type cacheEntry struct {
	key   string // in the catalog; "" if nothing may be kept for other sessions
	entry *catalog.Entry
	stale []string // names of answers that are to be revalidated

	unsaved bool // entry has changed since it was last written
	saving  bool // save is running

	changed   bool      // the server has sent list_changed since rechecked
	rechecked time.Time // when a list_changed last made the answers stale
}

// cached is an answer from the cache.
type cached struct {
	value   []byte
	failure bool
}

func (a cached) member() string {
	if a.failure {
		return "error"
	}
	return "result"
}

func isCacheable(method string) bool {
	switch method {
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		return true
	}
	return false
}

func (e *cacheEntry) markStale(name string) {
	if !slices.Contains(e.stale, name) {
		e.stale = append(e.stale, name)
	}
}

// maxCached bounds the memory of the answers that a session keeps, to all clients.
const maxCached = catalog.MaxFile

// answerCost is the memory of a kept answer and of an entry, without its bytes.
const answerCost = 4 << 10

// size returns the memory of all answers. The caller holds mu.
func (l *listCache) size() (n int64) {
	for id, e := range l.entries {
		n += int64(len(id)) + answerCost
		for name, a := range e.entry.Answers {
			n += int64(len(name)+len(a.Result)+len(a.Error)) + answerCost
		}
	}
	return n
}

// entryFor returns the entry of a client. The caller holds mu.
func (l *listCache) entryFor(h *clientinfo.Info) *cacheEntry {
	id := h.EraName() + string(h.Key())
	if known := l.entries[id]; known != nil {
		return known
	}
	// A client may describe itself in many ways. Forgetting all of them is simple, and rare.
	if l.size()+int64(len(id)) > maxCached {
		l.entries = nil
	}
	known := &cacheEntry{entry: &catalog.Entry{Answers: map[string]catalog.Answer{}}}
	if l.entries == nil {
		l.entries = map[string]*cacheEntry{}
	}
	l.entries[id] = known
	if l.session.options.Catalog == nil {
		return known
	}
	profile := l.session.discovery.currentProfile()
	print, err := catalog.Fingerprint(profile)
	if err != nil {
		l.session.client.Log.Info().Err(err).Msg("the server's lists are not kept for other sessions")
		return known
	}
	known.key = catalog.Key(catalog.Facts{Version: l.session.options.Version, Profile: profile, Fingerprint: print, Era: h.EraName(), Client: h.Key()})
	if entry, ok := l.session.options.Catalog.Get(l.session.serverName, known.key); ok {
		known.entry = entry
	}
	return known
}

func (l *listCache) lookup(info *clientinfo.Info, rq *clientRequest) (cached, bool) {
	name, ok := rq.cacheName()
	if info == nil || !ok {
		return cached{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	rq.generation = l.generation
	entry := l.entryFor(info)
	a, ok := entry.entry.Answers[name]
	if !ok || !a.Fresh(time.Now()) || rq.method == "resources/list" && !a.HasTTL {
		return cached{}, false
	}
	l.noteLogging(rq.method, a.Result)
	// It is from an earlier session, and the server may have changed.
	if !a.HasTTL && a.Stored.Before(l.session.client.Started) && a.Error == nil {
		entry.markStale(name)
		l.session.wake()
	}
	switch {
	case a.Error != nil:
		return cached{a.Error, true}, true
	case a.HasTTL:
		return cached{withRemainingTTL(a, time.Now()), false}, true
	}
	return cached{a.Result, false}, true
}

// withRemainingTTL returns a result whose ttlMs is the time that is left, since the client
// counts from when it gets the result.
func withRemainingTTL(a catalog.Answer, now time.Time) []byte {
	left := max(a.TTL-now.Sub(a.Stored), 0).Milliseconds()
	return session.ReplaceMember(a.Result, "ttlMs", func([]byte) []byte { return strconv.AppendInt(nil, left, 10) })
}

func (l *listCache) store(info *clientinfo.Info, rq *clientRequest, f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	name, ok := rq.cacheName()
	if info == nil || !ok {
		return
	}
	a := catalog.Answer{Stored: time.Now()}
	switch {
	case e.Result.Present():
		a.Result = bytes.Clone(f.Slice(e.Result))
		var store bool
		if a.TTL, a.HasTTL, store = catalog.TTL(a.Result); !store || isPartial(name, a.Result) {
			return
		}
	case rq.method == "server/discover" && catalog.KeepError(f.Slice(e.Error)):
		a.Error = bytes.Clone(f.Slice(e.Error))
	default:
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// The configuration was reloaded since: the answer may be that of an older policy.
	if rq.generation != l.generation {
		return
	}
	l.noteLogging(rq.method, a.Result)
	l.set(l.entryFor(info), name, a)
}

func (l *listCache) invalidate(info *clientinfo.Info) {
	if info == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entryFor(info).entry.Answers = map[string]catalog.Answer{}
}

// reset forgets the answers to all clients, for this session, and returns the kinds of lists among
// them. An answer to a request that came before the reset is not kept.
func (l *listCache) reset() (kinds []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, kind := range []string{"tools", "prompts"} { // capability.StripServer leaves listChanged to these two alone
		listed := func(e *cacheEntry) bool { _, has := e.entry.Answers[kind+"/list"]; return has }
		if slices.ContainsFunc(slices.Collect(maps.Values(l.entries)), listed) {
			kinds = append(kinds, kind)
		}
	}
	l.entries = nil
	l.generation++
	return kinds
}

func isPartial(name string, result []byte) bool {
	// Another process may not know the cursor, so pages are not kept.
	part := strings.Contains(name, `"cursor"`)
	session.EachMember(result, func(name string, _ int64, _ []byte) { part = part || name == "nextCursor" })
	return part
}

// set puts an answer into the cache, if there is room, and starts writing it to the catalog. The
// caller holds mu.
func (l *listCache) set(entry *cacheEntry, name string, a catalog.Answer) {
	// First, so that size does not count the answer that is replaced.
	delete(entry.entry.Answers, name)
	if l.size()+int64(len(name)+len(a.Result)+len(a.Error)) > maxCached {
		return
	}
	entry.entry.Answers[name] = a
	if entry.key == "" {
		return
	}
	entry.unsaved = true
	if !entry.saving {
		entry.saving = true
		l.session.client.Tasks.Go(func() { l.save(entry) })
	}
}

// save writes an entry to the catalog until it has no changes. Only one save runs for an
// entry, so that an older state never replaces a newer one.
func (l *listCache) save(known *cacheEntry) {
	for {
		l.mu.Lock()
		if !known.unsaved {
			known.saving = false
			l.mu.Unlock()
			return
		}
		known.unsaved = false
		// A copy: Put writes to the disk, and must not hold mu.
		entry := &catalog.Entry{Answers: maps.Clone(known.entry.Answers)}
		l.mu.Unlock()
		if err := l.session.options.Catalog.Put(l.session.serverName, known.key, entry); err != nil {
			l.session.client.Log.Info().Err(err).Msg("the server's lists could not be written to the catalog")
		}
	}
}

func (l *listCache) noteLogging(method string, result []byte) {
	if method != "initialize" {
		return
	}
	var r struct {
		Capabilities struct {
			Logging json.RawMessage `json:"logging"`
		} `json:"capabilities"`
	}
	l.logging = json.Unmarshal(result, &r) == nil && r.Capabilities.Logging != nil
}

func (l *listCache) hasLogging() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.logging
}

func (l *listCache) needsTask(tool string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taskTools[tool]
}
