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
	entries    map[string]*entry // by the client
	logging    bool              // the server has the capability logging
	generation int               // grows with each reset
}

// Options holds what a cache needs beyond its client. Profile and Stale are required.
type Options struct {
	// Dir is the directory in which the answers are kept between sessions. With "" the cache keeps them
	// for this one.
	Dir string
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
	key     string          // of the file; "" if nothing is kept between sessions
	answers map[string]kept // by their methods
	stale   []string        // methods whose answers are to be asked for again

	saving  sync.Mutex // held while the file is written
	unsaved bool       // answers have changed since the file was last written

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
	method     string
	generation int // of the cache when the answer was looked up
}

// RequestOf returns the request with these parameters. It is nil if its answer must not be kept, since the
// parameters ask for a part of a list, or for more than is known here.
func RequestOf(method string, params []byte) *Request {
	if !isKeepable(method) {
		return nil
	}
	if IsList(method) && len(params) > 0 {
		if params[0] != '{' {
			return nil
		}
		plain := true
		session.EachMember(params, func(name string, _ int64, _ []byte) { plain = plain && name == "_meta" })
		if !plain {
			return nil
		}
	}
	return &Request{method: method} // what a handshake says of the client is part of the key
}

// IsList reports whether a request asks for one of the lists that are kept.
func IsList(method string) bool {
	switch method {
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		return true
	}
	return false
}

func isKeepable(method string) bool {
	return method == "initialize" || method == "server/discover" || IsList(method)
}

func (e *entry) markStale(method string) {
	if !slices.Contains(e.stale, method) {
		e.stale = append(e.stale, method)
	}
}

// answerCost is the memory of a kept answer and of an entry, without its bytes.
const answerCost = 4 << 10

// size returns the memory of all answers, to all clients. The caller holds mu.
func (l *Cache) size() (n int) {
	for id, e := range l.entries {
		n += len(id) + answerCost
		for _, k := range e.answers {
			n += k.size() + answerCost
		}
	}
	return n
}

// entryFor returns the entry of a client. The caller holds mu.
func (l *Cache) entryFor(info *ClientInfo) *entry {
	id := info.eraName() + string(info.Key())
	if known := l.entries[id]; known != nil {
		return known
	}
	// A client may describe itself in many ways. Forgetting all of them is simple, and rare.
	if l.entries == nil || l.size()+len(id) > maxFile {
		l.entries = map[string]*entry{}
	}
	e := &entry{key: l.options.keyFor(info)}
	if e.key != "" {
		e.answers = load(l.options.Dir, e.key)
	}
	if e.answers == nil {
		e.answers = map[string]kept{}
	}
	l.entries[id] = e
	return e
}

// Lookup returns the kept answer to a client's request. One of an earlier session is asked for again.
func (l *Cache) Lookup(info *ClientInfo, rq *Request) (Answer, bool) {
	if info == nil || rq == nil {
		return Answer{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	rq.generation = l.generation
	entry := l.entryFor(info)
	k, ok := entry.answers[rq.method]
	now := time.Now()
	if !ok || !k.isFresh(now) || rq.method == "resources/list" && k.TTL == 0 {
		return Answer{}, false
	}
	if k.Error != nil {
		return Answer{k.Error, true}, true
	}
	l.noteLogging(rq.method, k.Result)
	if k.earlier {
		entry.markStale(rq.method)
		l.options.Stale()
	}
	return Answer{k.shown(now), false}, true
}

// Store keeps the server's answer to a request that was looked up, if it may be kept.
func (l *Cache) Store(info *ClientInfo, rq *Request, f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if info == nil || rq == nil {
		return
	}
	k := newKept(f.Slice(e.Result), 0)
	switch {
	case e.Result.Present():
		var keep bool
		if k.TTL, keep = lifetime(k.Result); !keep {
			return
		}
	case rq.method == "server/discover" && string(e.Code) == "-32601": // other errors may be gone the next time
		k.Error, k.TTL = bytes.Clone(f.Slice(e.Error)), maxTTL
	default:
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// The configuration was reloaded since: the answer may be that of an older policy.
	if rq.generation != l.generation {
		return
	}
	l.noteLogging(rq.method, k.Result)
	l.set(l.entryFor(info), rq.method, k)
}

// Forget forgets the answers to one client, for this session.
func (l *Cache) Forget(info *ClientInfo) {
	if info == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.entryFor(info).answers)
}

// Reset forgets the answers to all clients, for this session, and returns the kinds of lists among
// them. An answer to a request that came before the reset is not kept.
func (l *Cache) Reset() (kinds []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, kind := range []string{"tools", "prompts"} { // answers.StripServer leaves listChanged to these two alone
		listed := func(e *entry) bool { _, has := e.answers[kind+"/list"]; return has }
		if slices.ContainsFunc(slices.Collect(maps.Values(l.entries)), listed) {
			kinds = append(kinds, kind)
		}
	}
	l.entries = nil
	l.generation++
	return kinds
}

// set puts an answer into the cache, if there is room, and has the file written. The caller holds mu.
func (l *Cache) set(e *entry, method string, k kept) {
	delete(e.answers, method) // first, so that size does not count the answer that is replaced
	if l.size()+k.size() > maxFile || !k.isValid() {
		return
	}
	e.answers[method] = k
	l.saveSoon(e)
}

// saveSoon has the file of an entry written. The caller holds mu.
func (l *Cache) saveSoon(e *entry) {
	if e.key != "" {
		e.unsaved = true
		l.client.Tasks.Go(func() { l.save(e) })
	}
}

// save writes the file of an entry, if its answers have changed. An older state never replaces a newer one, since
// each save waits for the one before it and then writes what there is.
func (l *Cache) save(e *entry) {
	e.saving.Lock()
	defer e.saving.Unlock()
	l.mu.Lock()
	unsaved, answers := e.unsaved, maps.Clone(e.answers)
	e.unsaved = false
	l.mu.Unlock()
	if !unsaved {
		return
	}
	_ = save(l.options.Dir, e.key, answers) // else other sessions ask the server
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

// stale are answers to one client that are to be asked for again: the client got them from an
// earlier session, or the server has sent list_changed. Names are their methods.
type stale struct {
	Names []string
	cache *Cache
	entry *entry
}

// TakeStale returns the stale answers to a client. No other caller gets them. A list_changed makes
// answers stale at most once in each pause.
func (l *Cache) TakeStale(info *ClientInfo, pause time.Duration) *stale {
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entryFor(info)
	entry.markAllStale(time.Now(), pause)
	stale := &stale{entry.stale, l, entry}
	entry.stale = nil
	return stale
}

// Apply replaces a kept answer by the server's answer of now, or removes it if that is nil
// or must not be kept. It reports whether the two answers differ.
func (s *stale) Apply(method string, answer *mcpproxy.Frame) (changed bool) {
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
func (l *Cache) NoteChanged(info *ClientInfo, pause time.Duration) (now bool) {
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

// kept is an answer as it lies in a file: a result or an error, with the bytes that the server sent.
type kept struct {
	Result []byte        `json:"result,omitempty"`
	Error  []byte        `json:"error,omitempty"`
	Stored time.Time     `json:"stored"`        // when it was received, by the wall clock
	TTL    time.Duration `json:"ttl,omitempty"` // how long it may be used; 0 if the server has not said it

	earlier bool // it is from an earlier session, and the server has not confirmed it in this one
}

const (
	// maxAge bounds the age of an answer without a TTL.
	maxAge = 30 * 24 * time.Hour
	// maxTTL bounds the TTL of a server, and the age of an error, which is not asked for again.
	maxTTL = 24 * time.Hour
)

func newKept(result []byte, ttl time.Duration) kept {
	return kept{Result: bytes.Clone(result), Stored: time.Now().Round(0), TTL: ttl}
}

// isFresh reports whether the answer may still be used. An answer from the future may not: the clock was set
// back, and the age is unknown.
func (k kept) isFresh(now time.Time) bool {
	limit := maxAge
	if k.TTL > 0 {
		limit = k.TTL
	}
	age := now.Sub(k.Stored)
	return age >= 0 && age < limit
}

// isValid reports whether a file can hold this answer. A line end would end the message to the client.
func (k kept) isValid() bool {
	object := k.Result
	if len(k.Error) > 0 {
		object = k.Error
	}
	one := (len(k.Result) > 0) != (len(k.Error) > 0)
	return one && object[0] == '{' && json.Valid(object) && bytes.IndexByte(object, '\n') < 0 && k.TTL >= 0 && k.TTL <= maxTTL
}

func (k kept) size() int { return len(k.Result) + len(k.Error) }

// shown returns the result for the client. The client counts a ttlMs from when it gets the result, so ttlMs is
// the time that is left; it is 0 for an answer of an earlier session, so that the client asks again.
func (k kept) shown(now time.Time) []byte {
	if k.TTL == 0 {
		return k.Result
	}
	left := int64(0)
	if !k.earlier {
		left = max(k.TTL-now.Sub(k.Stored), 0).Milliseconds()
	}
	return session.ReplaceMember(k.Result, "ttlMs", func([]byte) []byte { return strconv.AppendInt(nil, left, 10) })
}

// lifetime returns for how long a result may be used (MCP 2026-07-28, "Caching"); 0 if the server does not say
// it, as none does in the legacy era. keep is false for results that are not kept: with a ttlMs below 1, modern
// ones without a ttlMs, which means 0, those that ask for input, and parts of a list, since another process may
// not know the cursor. A cacheScope changes nothing: the files are those of one user, and each of their clients
// has its own.
func lifetime(result []byte) (ttl time.Duration, keep bool) {
	modern, timed := false, false
	keep = true
	session.EachMember(result, func(name string, _ int64, value []byte) {
		switch {
		case name == "ttlMs" && !timed:
			timed = true
			ttl = milliseconds(string(value))
			keep = keep && ttl > 0
		case name == "resultType" && !modern:
			modern = true
			keep = keep && string(value) == `"complete"`
		case name == "nextCursor", strings.EqualFold(name, "ttlMs"), strings.EqualFold(name, "resultType"):
			keep = false // the last two are there twice, or for readers that ignore the case of names
		}
	})
	return ttl, keep && (timed || !modern)
}

// milliseconds returns the duration of a JSON number, or 0 for anything else and for numbers below 1.
func milliseconds(number string) time.Duration {
	ms, err := strconv.ParseFloat(number, 64) // the decoder has excluded hexadecimal numbers and Inf
	switch {
	case err != nil && ms == 0, !(ms >= 1):
		return 0
	case ms > float64(maxTTL/time.Millisecond):
		return maxTTL
	}
	return time.Duration(ms) * time.Millisecond
}
