package session

import (
	"slices"
	"sync"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// leakCheck looks for the secrets of a server in what it sends to the client: those that its
// processes hold, and no other. A search takes a time that depends on the text and on the secrets, so
// a server could read a secret that it lacks from that time. The methods of a nil leakCheck find
// nothing.
type leakCheck struct {
	*leakTeller
	held     []policy.Variable // the secrets among the variables of its processes
	searcher func() *leak.Searcher
}

// leakTeller tells the leaks of a session.
type leakTeller struct {
	client *Client
	block  bool
	tokens bool // well-known kinds of tokens are looked for too

	mu     sync.Mutex
	told   map[string]bool
	checks []*leakCheck
}

// maxChecks bounds the checks that a session keeps.
const maxChecks = 100

func newLeakCheck(c *Client) *leakCheck {
	p := c.Config.Profile
	if p.Leaks != policy.LeaksWarn && p.Leaks != policy.LeaksBlock {
		return nil
	}
	t := &leakTeller{client: c, block: p.Leaks == policy.LeaksBlock, tokens: p.LeakPatterns, told: map[string]bool{}}
	return (&leakCheck{leakTeller: t}).For(p)
}

// For returns the leakCheck of what another profile of the session holds.
func (l *leakCheck) For(p *policy.Profile) *leakCheck {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// Each call may have a profile of its own, and a searcher takes megabytes for a long key.
	held := slices.DeleteFunc(slices.Clone(p.Env), func(v policy.Variable) bool { return !v.Secret })
	for _, known := range l.checks {
		if slices.Equal(known.held, held) {
			return known
		}
	}
	if len(l.checks) >= maxChecks {
		l.checks = nil
	}
	// The first message makes the searcher, so that no start waits for it.
	check := &leakCheck{leakTeller: l.leakTeller, held: held, searcher: sync.OnceValue(func() *leak.Searcher {
		secrets, _ := leak.Sought(held)
		return leak.New(secrets, l.tokens)
	})}
	l.checks = append(l.checks, check)
	return check
}

// current returns the searcher, or nil if there is nothing to look for.
func (l *leakCheck) current() *leak.Searcher {
	if l == nil {
		return nil
	}
	return l.searcher()
}

func (l *leakCheck) look(f *mcpproxy.Frame) []leak.Found {
	searcher := l.current()
	if searcher == nil {
		return nil
	}
	if line := f.Bytes(); line != nil {
		return searcher.Find(line)
	}
	// The frame is in a file: a secret may cross the border of two pieces, which Stream remembers.
	pieces := leakWriter{stream: searcher.Stream()}
	f.CopyTo(&pieces) // if it fails, sending the frame does as well
	return pieces.found
}

// leakWriter looks at what is written to it.
type leakWriter struct {
	stream *leak.Stream
	found  []leak.Found
}

// Write implements io.Writer.
func (w *leakWriter) Write(b []byte) (int, error) {
	w.found = append(w.found, w.stream.Find(b)...)
	return len(b), nil
}

// Check looks at a frame of a server before it is sent on. Under "warn" it tells what it finds.
// Under "block" it returns a diagnosis, which is the answer in place of the frame.
func (l *leakCheck) Check(f *mcpproxy.Frame, tool string) *diagnostics.Diagnosis {
	found := l.look(f)
	if found == nil {
		return nil
	}
	return l.found(found, placeOf(f), tool)
}

// CheckValue is check for a part of an answer that is not a frame.
func (l *leakCheck) CheckValue(value []byte, tool string) *diagnostics.Diagnosis {
	found := l.current().Find(value)
	if found == nil {
		return nil
	}
	return l.found(found, "an answer", tool)
}

func (l *leakCheck) found(found []leak.Found, place, tool string) *diagnostics.Diagnosis {
	about := diagnostics.Leak{Server: l.client.Config.Profile.Server, Tool: tool, Place: place, Found: found, Declared: !l.client.Config.Known.FromCommandLine, Blocked: l.block}
	if l.block {
		d := about.Diagnosis()
		return &d
	}
	l.tell(about)
	return nil
}

// tell tells the user and the client of secrets, each one once for a place.
func (l *leakCheck) tell(about diagnostics.Leak) {
	l.mu.Lock()
	about.Found = slices.DeleteFunc(about.Found, func(f leak.Found) bool {
		key := about.Place + "\x00" + f.Name
		known := l.told[key] || len(l.told) >= maxTold
		if !known {
			l.told[key] = true
		}
		return known
	})
	l.mu.Unlock()
	if len(about.Found) == 0 {
		return
	}
	line := about.Warning()
	l.client.warnNow(line)
	l.client.notify(false, line)
}

func (l *leakCheck) inRequest(about confine.Leak, tool string) {
	if l != nil {
		l.tell(diagnostics.Leak{
			Server: l.client.Config.Profile.Server, Tool: tool, Place: string(about.Place) + " of a request to " + about.Host,
			Found: []leak.Found{about.Found}, Declared: !l.client.Config.Known.FromCommandLine,
		})
	}
}

// Dropped tells of the secrets in a message that was dropped and that no open request waits for.
func (l *leakCheck) Dropped(f *mcpproxy.Frame, tool string) {
	if found := l.look(f); found != nil {
		l.tell(diagnostics.Leak{Server: l.client.Config.Profile.Server, Tool: tool, Place: placeOf(f), Found: found, Declared: !l.client.Config.Known.FromCommandLine, Blocked: true})
	}
}

func placeOf(f *mcpproxy.Frame) string {
	if f.Batch || len(f.Messages) != 1 {
		return "a batch"
	}
	switch e := &f.Messages[0]; e.Kind() {
	case mcpproxy.Response:
		if e.Error.Present() {
			return "an error"
		}
		return "an answer"
	case mcpproxy.Request:
		switch method := string(e.Method); method {
		case "sampling/createMessage", "elicitation/create":
			return "a request to the client (" + method + ")"
		}
		return "a request to the client"
	default:
		if string(e.Method) == "notifications/message" {
			return "a log message"
		}
		return "a notification"
	}
}
