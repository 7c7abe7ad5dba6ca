package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// record is the record of a session. Its goroutine passes it to Session.Sink, so that answers to the
// client do not wait for a disk. Those that name a command which reads the record do.
type record struct {
	client  *Client
	denials func() []policy.Denial // of the whole session
	refused func() int             // how many different ones they are

	Mu sync.Mutex
	diagnostics.Record
	waiting  []chan struct{} // to close after the next write
	slow     bool            // a write takes longer than recordWait
	changed  chan struct{}   // gets a value when there is more to save
	Finished chan struct{}
	Saved    chan struct{} // closed after the last write

	warnedLost bool // used by the goroutine alone
}

// note changes the record, and has it saved.
func (r *record) note(change func(*diagnostics.Record)) {
	r.Mu.Lock()
	change(&r.Record)
	r.Mu.Unlock()
	r.changes()
}

// recordWait is how long a failure waits until its record is written. The disk may be slow.
const recordWait = time.Second

// addDiagnosis adds a diagnosis. With wait, it returns when a command that reads the record finds the diagnosis, unless the
// disk is too slow.
func (r *record) addDiagnosis(d diagnostics.Diagnosis, wait bool) {
	written := make(chan struct{})
	r.Mu.Lock()
	if len(r.Diagnoses) == maxRecords {
		r.Diagnoses = append(r.Diagnoses[:0:0], r.Diagnoses[1:]...)
	}
	r.Diagnoses = append(r.Diagnoses, d)
	if wait = wait && !r.slow && r.client.Config.Sink != nil; wait {
		r.waiting = append(r.waiting, written)
	}
	r.Mu.Unlock()
	r.changes()
	if !wait {
		return
	}
	select {
	case <-written:
	case <-r.Saved:
	case <-time.After(recordWait):
		r.Mu.Lock()
		r.slow = true
		r.Mu.Unlock()
	}
}

// addLine adds a line to Warnings or Waived, whose lines differ.
func (r *record) addLine(to *[]string, line string) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if len(*to) < maxRecords && !slices.Contains(*to, line) {
		*to = append(slices.Clip(*to), line)
	}
}

// allowed adds what the user has allowed in the client.
func (r *record) allowed(words string) {
	r.addLine(&r.Allowed, words)
	r.changes()
}

func (r *record) changes() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// run saves the record after each change. It looks for new refusals once a second: the jail tells of
// none by itself.
func (r *record) run() {
	defer close(r.Saved)
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for saved := 0; ; {
		select {
		case <-r.changed:
			r.save(false)
		case <-look.C:
			r.client.Introduction.tell()
			if n := r.refused(); n > saved {
				saved = n
				r.save(false)
			}
			r.client.begin()
			r.client.Config.Events.Tick()
		case <-r.Finished:
			r.client.Introduction.tell()
			r.client.begin()
			r.noteChanges()
			r.save(true)
			r.client.Config.Events.Ended(r.client.EndedBy)
			return
		}
	}
}

func (r *record) noteChanges() {
	if changed := r.client.Config.Changed; changed != nil {
		if text := changed(); text != "" {
			r.Mu.Lock()
			r.Changes = text
			r.Mu.Unlock()
			r.client.SayOnce(text)
		}
	}
}

func (r *record) save(finished bool) {
	config := &r.client.Config
	if config.Sink == nil {
		return
	}
	r.Mu.Lock()
	now := r.Record // never written to: its lists are only appended to or replaced
	waiting := r.waiting
	r.waiting = nil
	r.Mu.Unlock()
	now.Unfinished = !finished
	now.Denials = r.denials()
	config.Sink(now)
	r.Mu.Lock()
	r.slow = false
	r.Mu.Unlock()
	for _, written := range waiting {
		close(written)
	}
	if config.Lost == nil || r.warnedLost {
		return
	}
	if err := config.Lost(); err != nil {
		r.warnedLost = true
		r.client.Stderr.SayLine(fmt.Sprintf("warning: the record of this session cannot be written, so `mcp-jail why` will not have all of it: %s%s", err, diagnostics.PageRecord.Reference()))
	}
}

// introduction is what a client says of itself, for Session.ClientNamed.
type introduction struct {
	named  func(name, version string) // nil: no caller wants the name
	params atomic.Pointer[[]byte]     // of the last message that may have it
	told   bool                       // used by tell alone
}

// MaxIntroduction bounds the params that are kept.
const MaxIntroduction = 64 << 10

// Note keeps the params of an initialize, or the _meta of a modern request. They are decoded
// later, so that the server's start does not wait.
func (i *introduction) Note(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	var text []byte
	switch {
	case string(e.Method) == "initialize":
		text = f.Slice(e.Params)
	case e.Era() == mcpproxy.Modern:
		text = f.Slice(e.ParamsMeta)
	}
	if earlier := i.params.Load(); len(text) == 0 || len(text) > MaxIntroduction || earlier != nil && bytes.Equal(*earlier, text) {
		return
	}
	text = bytes.Clone(text)
	i.params.Store(&text)
}

func (i *introduction) tell() {
	if i.told || i.named == nil || i.params.Load() == nil {
		return
	}
	i.told = true
	if name, version := i.name(); name != "" {
		i.named(name, version)
	}
}

// name returns what the client has said so far.
func (i *introduction) name() (name, version string) {
	text := i.params.Load()
	if text == nil {
		return "", ""
	}
	type info struct{ Name, Version string }
	var said struct {
		Legacy info `json:"clientInfo"`
		Modern info `json:"io.modelcontextprotocol/clientInfo"`
	}
	if json.Unmarshal(*text, &said) != nil {
		return "", ""
	}
	if said.Legacy.Name == "" {
		said.Legacy = said.Modern
	}
	return said.Legacy.Name, said.Legacy.Version
}
