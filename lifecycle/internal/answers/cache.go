package answers

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

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
func (l *Cache) entryFor(info *clientinfo.Info) *entry {
	id := info.EraName() + string(info.Key())
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
func (l *Cache) Lookup(info *clientinfo.Info, rq *Request) (Answer, bool) {
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
func (l *Cache) Store(info *clientinfo.Info, rq *Request, f *mcpproxy.Frame, e *mcpproxy.Envelope) {
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
func (l *Cache) Forget(info *clientinfo.Info) {
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
	for _, kind := range []string{"tools", "prompts"} { // capability.StripServer leaves listChanged to these two alone
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
	if err := save(l.options.Dir, e.key, answers); err != nil {
		l.client.Log.Info().Err(err).Msg("the server's lists were not kept for other sessions")
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
