// Package answers keeps a server's answers to the handshake of a client and to its requests for lists, and
// knows which tools the server has listed.
package answers

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
	"github.com/mcp-jail/mcp-jail/policy"
)

// Cache holds the server's answers to a client's handshake and to requests for lists, from
// this session or an earlier one.
type Cache struct {
	client  *session.Client
	options Options

	mu         sync.Mutex
	entries    map[string]*entry
	logging    bool // the server has the capability logging
	generation int  // grows with each reset
}

// Options holds what a cache needs beyond its client. Profile and Stale are required.
type Options struct {
	// Server is the name of the server.
	Server string
	// Catalog keeps the answers between sessions. With nil the cache keeps them for this one.
	Catalog *catalog.Catalog
	// Version is the version of mcp-jail. Answers that another version has kept are not used.
	Version string
	// Profile returns the profile of the processes whose answers these are, as it is now.
	Profile func() *policy.Profile
	// Stale is called when an answer is to be asked for again.
	Stale func()
}

// New returns a cache without answers.
func New(c *session.Client, o Options) *Cache { return &Cache{client: c, options: o} }

// entry holds the answers to one client.
type entry struct {
	key   string // in the catalog; "" if nothing may be kept for other sessions
	kept  *catalog.Entry
	stale []string // names of answers that are to be revalidated

	unsaved bool // kept has changed since it was last written
	saving  bool // save is running

	changed   bool      // the server has sent list_changed since rechecked
	rechecked time.Time // when a list_changed last made the answers stale
}

// Answer is an answer from the cache.
type Answer struct {
	Value   []byte
	failure bool
}

// Member returns the member of a message that the value is for.
func (a Answer) Member() string {
	if a.failure {
		return "error"
	}
	return "result"
}

// Request is a request whose answer may be kept.
type Request struct {
	method, name string
	generation   int // of the cache when the answer was looked up
}

// RequestOf returns the request with these parameters. It is nil if its answer must not be kept.
func RequestOf(method string, params []byte) *Request {
	if method == "initialize" || method == "server/discover" {
		return &Request{method: method, name: method} // what they say of the client is part of the entry's key
	}
	name, ok := catalog.Request(method, params)
	if !ok {
		return nil
	}
	return &Request{method: method, name: name}
}

// IsList reports whether a request asks for one of the lists that are kept.
func IsList(method string) bool {
	switch method {
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		return true
	}
	return false
}

func (e *entry) markStale(name string) {
	if !slices.Contains(e.stale, name) {
		e.stale = append(e.stale, name)
	}
}

// maxCached bounds the memory of the answers that a session keeps, to all clients.
const maxCached = catalog.MaxFile

// answerCost is the memory of a kept answer and of an entry, without its bytes.
const answerCost = 4 << 10

// size returns the memory of all answers. The caller holds mu.
func (l *Cache) size() (n int64) {
	for id, e := range l.entries {
		n += int64(len(id)) + answerCost
		for name, a := range e.kept.Answers {
			n += int64(len(name)+len(a.Result)+len(a.Error)) + answerCost
		}
	}
	return n
}

// entryFor returns the entry of a client. The caller holds mu.
func (l *Cache) entryFor(h *clientinfo.Info) *entry {
	id := h.EraName() + string(h.Key())
	if known := l.entries[id]; known != nil {
		return known
	}
	// A client may describe itself in many ways. Forgetting all of them is simple, and rare.
	if l.size()+int64(len(id)) > maxCached {
		l.entries = nil
	}
	known := &entry{kept: &catalog.Entry{Answers: map[string]catalog.Answer{}}}
	if l.entries == nil {
		l.entries = map[string]*entry{}
	}
	l.entries[id] = known
	if l.options.Catalog == nil {
		return known
	}
	profile := l.options.Profile()
	print, err := catalog.Fingerprint(profile)
	if err != nil {
		l.client.Log.Info().Err(err).Msg("the server's lists are not kept for other sessions")
		return known
	}
	known.key = catalog.Key(catalog.Facts{Version: l.options.Version, Profile: profile, Fingerprint: print, Era: h.EraName(), Client: h.Key()})
	if entry, ok := l.options.Catalog.Get(l.options.Server, known.key); ok {
		known.kept = entry
	}
	return known
}

// Lookup returns the kept answer to a client's request. What is found stale is asked for again.
func (l *Cache) Lookup(info *clientinfo.Info, rq *Request) (Answer, bool) {
	if info == nil || rq == nil {
		return Answer{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	rq.generation = l.generation
	entry := l.entryFor(info)
	a, ok := entry.kept.Answers[rq.name]
	if !ok || !a.Fresh(time.Now()) || rq.method == "resources/list" && !a.HasTTL {
		return Answer{}, false
	}
	l.noteLogging(rq.method, a.Result)
	// It is from an earlier session, and the server may have changed.
	if !a.HasTTL && a.Stored.Before(l.client.Started) && a.Error == nil {
		entry.markStale(rq.name)
		l.options.Stale()
	}
	switch {
	case a.Error != nil:
		return Answer{a.Error, true}, true
	case a.HasTTL:
		return Answer{withRemainingTTL(a, time.Now()), false}, true
	}
	return Answer{a.Result, false}, true
}

// withRemainingTTL returns a result whose ttlMs is the time that is left, since the client
// counts from when it gets the result.
func withRemainingTTL(a catalog.Answer, now time.Time) []byte {
	left := max(a.TTL-now.Sub(a.Stored), 0).Milliseconds()
	return session.ReplaceMember(a.Result, "ttlMs", func([]byte) []byte { return strconv.AppendInt(nil, left, 10) })
}

// Store keeps the server's answer to a request that was looked up, if it may be kept.
func (l *Cache) Store(info *clientinfo.Info, rq *Request, f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if info == nil || rq == nil {
		return
	}
	a := catalog.Answer{Stored: time.Now()}
	switch {
	case e.Result.Present():
		a.Result = bytes.Clone(f.Slice(e.Result))
		var store bool
		if a.TTL, a.HasTTL, store = catalog.TTL(a.Result); !store || isPartial(rq.name, a.Result) {
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
	l.set(l.entryFor(info), rq.name, a)
}

// Forget forgets the answers to one client, for this session.
func (l *Cache) Forget(info *clientinfo.Info) {
	if info == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entryFor(info).kept.Answers = map[string]catalog.Answer{}
}

// Reset forgets the answers to all clients, for this session, and returns the kinds of lists among
// them. An answer to a request that came before the reset is not kept.
func (l *Cache) Reset() (kinds []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, kind := range []string{"tools", "prompts"} { // capability.StripServer leaves listChanged to these two alone
		listed := func(e *entry) bool { _, has := e.kept.Answers[kind+"/list"]; return has }
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
func (l *Cache) set(entry *entry, name string, a catalog.Answer) {
	// First, so that size does not count the answer that is replaced.
	delete(entry.kept.Answers, name)
	if l.size()+int64(len(name)+len(a.Result)+len(a.Error)) > maxCached {
		return
	}
	entry.kept.Answers[name] = a
	if entry.key == "" {
		return
	}
	entry.unsaved = true
	if !entry.saving {
		entry.saving = true
		l.client.Tasks.Go(func() { l.save(entry) })
	}
}

// save writes an entry to the catalog until it has no changes. Only one save runs for an
// entry, so that an older state never replaces a newer one.
func (l *Cache) save(known *entry) {
	for {
		l.mu.Lock()
		if !known.unsaved {
			known.saving = false
			l.mu.Unlock()
			return
		}
		known.unsaved = false
		// A copy: Put writes to the disk, and must not hold mu.
		entry := &catalog.Entry{Answers: maps.Clone(known.kept.Answers)}
		l.mu.Unlock()
		if err := l.options.Catalog.Put(l.options.Server, known.key, entry); err != nil {
			l.client.Log.Info().Err(err).Msg("the server's lists could not be written to the catalog")
		}
	}
}

func (l *Cache) noteLogging(method string, result []byte) {
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

// HasLogging reports whether the server has the capability logging.
func (l *Cache) HasLogging() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.logging
}
