// Package clientinfo has what a client says of itself, as the processes of a server are told it.
package clientinfo

import (
	"bytes"
	"sync"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// Info is the client's description of itself. A legacy worker gets it in a handshake; modern
// requests carry it.
type Info struct {
	era  mcpproxy.Era
	key  []byte // the parts of the description that a server's answers may depend on
	line []byte // legacy: the client's initialize; modern: our server/discover
}

// Matches reports whether two descriptions, each of which may be nil, are those of the same client.
func (i *Info) Matches(other *Info) bool {
	return i == other || i != nil && other != nil && i.era == other.era && bytes.Equal(i.key, other.key)
}

// Era returns the era of the description; that of none is Legacy.
func (i *Info) Era() mcpproxy.Era {
	if i == nil || i.era != mcpproxy.Modern {
		return mcpproxy.Legacy
	}
	return mcpproxy.Modern
}

// Key returns the parts of the description that a server's answers may depend on.
func (i *Info) Key() []byte { return i.key }

// Greeting returns the first message for a process: the client's initialize, or our server/discover.
func (i *Info) Greeting() *mcpproxy.Frame { return mcpproxy.Parse(i.line) }

// EraName returns the name of the era.
func (i *Info) EraName() string {
	if i.Era() == mcpproxy.Modern {
		return "modern"
	}
	return "legacy"
}

// RequestFor returns one of our requests in the client's name. name is a method, and after a space its params.
func (i *Info) RequestFor(name string) *mcpproxy.Frame {
	method, params, _ := bytes.Cut([]byte(name), []byte(" "))
	if params == nil {
		params = []byte("{}")
	}
	if i.Era() == mcpproxy.Modern {
		meta := session.JSONObject("_meta", i.key)
		if len(params) > len("{}") {
			meta = append(append(meta[:len(meta)-1], ','), params[1:]...)
		}
		params = meta
	}
	return mcpproxy.Parse(mcpproxy.NewRequest([]byte("0"), string(method), params))
}

// Capabilities returns the capabilities of the client as it has sent them, or nil.
func (i *Info) Capabilities() (found []byte) {
	if i == nil {
		return nil
	}
	session.EachMember(i.key, func(name string, _ int64, value []byte) {
		if name == "capabilities" || name == "io.modelcontextprotocol/clientCapabilities" {
			found = value
		}
	})
	return found
}

// Known are the descriptions that the client has given of itself.
type Known struct {
	mu     sync.Mutex
	latest *Info // the one of the two below that came last
	legacy *Info // of the client's initialize; nil before it
	modern *Info // of the client's modern requests; nil before them
}

// RecordInitialize keeps the client's initialize, to replay it to each worker. It returns
// nil if the frame is not held in memory.
func (i *Known) RecordInitialize(f *mcpproxy.Frame, e *mcpproxy.Envelope) *Info {
	line, whole := f.AppendTo(nil)
	if !whole {
		return nil
	}
	info := &Info{era: mcpproxy.Legacy, line: line, key: session.FilterMembers(f.Slice(e.Params), func(name string) bool { return name != "_meta" })}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.legacy.Matches(info) {
		info = i.legacy
	}
	i.legacy, i.latest = info, info
	return info
}

// RecordModern keeps what a modern request says of the client.
func (i *Known) RecordModern(f *mcpproxy.Frame, e *mcpproxy.Envelope) *Info {
	const prefix = "io.modelcontextprotocol/"
	key := session.FilterMembers(f.Slice(e.ParamsMeta), func(name string) bool {
		return name == mcpproxy.VersionKey || name == prefix+"clientCapabilities" || name == prefix+"clientInfo"
	})
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.modern != nil && bytes.Equal(i.modern.key, key) {
		i.latest = i.modern
		return i.modern
	}
	line := mcpproxy.NewRequest([]byte("0"), "server/discover", session.JSONObject("_meta", key))
	i.modern = &Info{era: mcpproxy.Modern, key: key, line: line}
	i.latest = i.modern
	return i.modern
}

// Latest returns the description that came last, or nil.
func (i *Known) Latest() *Info {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.latest
}

// For returns the last description in an era, or nil.
func (i *Known) For(era mcpproxy.Era) *Info {
	i.mu.Lock()
	defer i.mu.Unlock()
	if era == mcpproxy.Modern {
		return i.modern
	}
	return i.legacy
}

// Current returns the description that a request means which gives none, and its era.
func (i *Known) Current() (mcpproxy.Era, *Info) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.legacy == nil && i.modern != nil {
		return mcpproxy.Modern, i.modern
	}
	return mcpproxy.Legacy, i.legacy
}
