package lifecycle

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

var errNotInMemory = errors.New("the answer is not held in memory")

// listRequest is the part of a request for a handshake or a list of tools on which the
// comparison of the answer depends.
type listRequest struct {
	method       string
	cursor       string // "" asks for the first page
	capabilities []byte // of the client
	logs         bool   // the client wants to be sent warnings that belong to the request
}

// unknownCursor stands for a cursor that is not known. It is not UTF-8, so no server can have
// given it.
const unknownCursor = "\xff"

// cursorOf returns the cursor in the params of a tools/list. params is nil if they are not
// held in memory.
func cursorOf(params []byte) string {
	var p struct {
		Cursor *string `json:"cursor"`
	}
	switch err := json.Unmarshal(params, &p); {
	case err != nil:
		return unknownCursor
	case p.Cursor == nil:
		return ""
	case *p.Cursor == "":
		return unknownCursor
	}
	return *p.Cursor
}

// nextCursor returns the cursor of the next page, or "". Most servers have one page, so it does
// not decode a page that cannot have a cursor.
func nextCursor(page []byte) string {
	if !bytes.Contains(page, []byte("ursor")) && !bytes.Contains(page, []byte(`\u`)) {
		return ""
	}
	var members map[string]json.RawMessage // with exact names, as clients read them
	json.Unmarshal(page, &members)
	var next string
	json.Unmarshal(members["nextCursor"], &next)
	return next
}

// modernRequest returns what the _meta of a modern request says of the client (2026-07-28,
// "Request metadata").
func modernRequest(method string, meta []byte) listRequest {
	const prefix = "io.modelcontextprotocol/"
	r := listRequest{method: method}
	eachMember(meta, func(name string, _ int64, value []byte) {
		switch name {
		case prefix + "clientCapabilities":
			r.capabilities = bytes.Clone(value)
		case prefix + "logLevel":
			var level string
			json.Unmarshal(value, &level)
			r.logs = includesWarnings(level)
		}
	})
	return r
}

// includesWarnings reports whether a client that asks for a level gets warnings (MCP,
// "Logging, Log Levels").
func includesWarnings(level string) bool {
	switch strings.ToLower(level) {
	case "debug", "info", "notice", "warning":
		return true
	}
	return false
}

// maxOpenLists bounds the requests that openLists keeps, since cancelled ones stay in it. At the
// bound it forgets all of them.
const maxOpenLists = 1000

// openLists holds the requests of a stateful session whose answers are compared.
type openLists struct {
	mu           sync.Mutex
	open         map[string]listRequest // by id
	levels       map[string]string      // of logging/setLevel, by id
	capabilities []byte                 // of the last initialize
}

// note records a request on which the comparison of an answer depends, before the server gets it.
func (o *openLists) note(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	var r listRequest
	switch string(e.Method) {
	case "initialize":
		r = listRequest{method: "initialize", capabilities: bytes.Clone(f.Slice(e.Capabilities))}
	case "server/discover", "tools/list":
		r = modernRequest(string(e.Method), f.Slice(e.ParamsMeta))
		if e.Params.Present() {
			r.cursor = cursorOf(f.Slice(e.Params))
		}
	case "logging/setLevel":
		var params struct{ Level string }
		json.Unmarshal(f.Slice(e.Params), &params)
		o.put(e, func() { o.levels[mcpproxy.IDKey(e.ID)] = params.Level })
		return
	default:
		return
	}
	o.put(e, func() {
		switch {
		case r.method == "initialize":
			o.capabilities = r.capabilities
		case e.Era() != mcpproxy.Modern:
			r.capabilities = o.capabilities
		}
		o.open[mcpproxy.IDKey(e.ID)] = r
	})
}

func (o *openLists) put(e *mcpproxy.Envelope, put func()) {
	if !e.Trackable() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil || len(o.open)+len(o.levels) >= maxOpenLists {
		o.open, o.levels = map[string]listRequest{}, map[string]string{}
	}
	put()
}

// take removes and returns a request. For an id that is not known it returns a request for an
// unknown page.
func (o *openLists) take(id []byte, method string) listRequest {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := mcpproxy.IDKey(id)
	r, ok := o.open[key]
	delete(o.open, key)
	if !ok {
		r = listRequest{method: method, cursor: unknownCursor, capabilities: o.capabilities}
	}
	return r
}

// takeLevel removes and returns the level of a logging/setLevel.
func (o *openLists) takeLevel(id []byte) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := mcpproxy.IDKey(id)
	level := o.levels[key]
	delete(o.levels, key)
	return level
}
