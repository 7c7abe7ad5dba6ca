package lifecycle

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
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// listing is what is known of a server: what it has answered to a client's handshake
// and to requests for lists, in this session or an earlier one.
type listing struct {
	mu        sync.Mutex
	entries   map[string]*listed
	tools     map[string]bool // all that were ever listed: clients remember them
	paged     []string        // of a list that is not complete; nil when its first part is not known
	logging   bool            // the server knows logging levels
	rechecked time.Time       // when a change of lists was last looked at, at once
}

// listed are the answers to one client.
type listed struct {
	key     string // "" when nothing can be kept for other sessions
	entry   *catalog.Entry
	doubted []string // names of answers that are to be verified

	unsaved bool // there is something to be put to disk
	saving  bool // somebody does it

	changed   bool      // the server has said so, and nobody has looked yet
	rechecked time.Time // when somebody has looked for that reason
}

// kept is an answer from the catalogue.
type kept struct {
	value   []byte
	failure bool
}

func (a kept) member() string {
	if a.failure {
		return "error"
	}
	return "result"
}

// isListed reports whether answers to the method are kept.
func isListed(method string) bool {
	switch method {
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		return true
	}
	return false
}

// doubt has an answer verified.
func (k *listed) doubt(name string) {
	if !slices.Contains(k.doubted, name) {
		k.doubted = append(k.doubted, name)
	}
}

// of returns what is known to one client. The caller holds mu.
func (l *listing) of(p *perCall, h *hello) *listed {
	id := h.eraName() + string(h.key)
	if known := l.entries[id]; known != nil {
		return known
	}
	known := &listed{entry: &catalog.Entry{Answers: map[string]catalog.Answer{}}}
	if l.entries == nil {
		l.entries = map[string]*listed{}
	}
	l.entries[id] = known
	if p.options.Catalog == nil {
		return known
	}
	print, err := catalog.Fingerprint(p.client.config.Profile)
	if err != nil {
		p.client.log.Info().Err(err).Msg("what the server lists is not kept for other sessions")
		return known
	}
	known.key = catalog.Key(catalog.Facts{Version: p.options.Version, Profile: p.client.config.Profile, Fingerprint: print, Era: h.eraName(), Client: h.key})
	if entry, ok := p.options.Catalog.Get(p.name, known.key); ok {
		known.entry = entry
	}
	return known
}

// get returns the answer to a request, if it is known. One of an earlier session is
// verified in the background.
func (l *listing) get(p *perCall, h *hello, rq *request) (kept, bool) {
	name, ok := rq.name()
	if h == nil || !ok {
		return kept{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.of(p, h)
	a, ok := known.entry.Answers[name]
	if !ok || !a.Fresh(time.Now()) || rq.method == "resources/list" && !a.HasTTL {
		return kept{}, false
	}
	l.learn(rq.method, a.Result)
	if !a.HasTTL && a.Stored.Before(p.client.started) && a.Error == nil {
		known.doubt(name)
		p.poke()
	}
	switch {
	case a.Error != nil:
		return kept{a.Error, true}, true
	case a.HasTTL:
		return kept{aged(a, time.Now()), false}, true
	}
	return kept{a.Result, false}, true
}

// aged is a result with what is left of its time: the client counts from when it
// gets it.
func aged(a catalog.Answer, now time.Time) []byte {
	left := max(a.TTL-now.Sub(a.Stored), 0).Milliseconds()
	return amended(a.Result, "ttlMs", func([]byte) []byte { return strconv.AppendInt(nil, left, 10) })
}

// put keeps an answer.
func (l *listing) put(p *perCall, h *hello, rq *request, f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	name, ok := rq.name()
	if h == nil || !ok {
		return
	}
	a := catalog.Answer{Stored: time.Now()}
	switch {
	case e.Result.Present():
		a.Result = bytes.Clone(f.Slice(e.Result))
		var store bool
		if a.TTL, a.HasTTL, store = catalog.TTL(a.Result); !store || paged(name, a.Result) {
			return
		}
	case rq.method == "server/discover" && catalog.KeepError(f.Slice(e.Error)):
		a.Error = bytes.Clone(f.Slice(e.Error))
	default:
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.learn(rq.method, a.Result)
	l.store(p, l.of(p, h), name, a)
}

// forget takes nothing for known any more, in this session.
func (l *listing) forget(p *perCall, h *hello) {
	if h == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(p, h).entry.Answers = map[string]catalog.Answer{}
}

// paged reports whether an answer is part of a list only: what a cursor means,
// another process may not know.
func paged(name string, result []byte) bool {
	part := strings.Contains(name, `"cursor"`)
	eachMember(result, func(name string, _ int64, _ []byte) { part = part || name == "nextCursor" })
	return part
}

// store puts an answer into the catalogue, and that to disk, aside. The caller holds
// mu.
func (l *listing) store(p *perCall, known *listed, name string, a catalog.Answer) {
	known.entry.Answers[name] = a
	if known.key == "" {
		return
	}
	known.unsaved = true
	if !known.saving {
		known.saving = true
		p.client.tasks.Go(func() { l.save(p, known) })
	}
}

// save puts an entry to disk until there is nothing new of it. There is one at a time,
// so that what is older never replaces what is newer.
func (l *listing) save(p *perCall, known *listed) {
	for {
		l.mu.Lock()
		if !known.unsaved {
			known.saving = false
			l.mu.Unlock()
			return
		}
		known.unsaved = false
		entry := &catalog.Entry{Answers: maps.Clone(known.entry.Answers)}
		l.mu.Unlock()
		if err := p.options.Catalog.Put(p.name, known.key, entry); err != nil {
			p.client.log.Info().Err(err).Msg("what the server lists could not be kept for other sessions")
		}
	}
}

// learn notes what an answer to a handshake tells of the server.
func (l *listing) learn(method string, result []byte) {
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

func (l *listing) logs() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.logging
}
