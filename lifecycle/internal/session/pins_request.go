package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

var errNotInMemory = errors.New("the answer is not held in memory")

// ListRequest is the part of a request for a handshake or a list of tools on which the
// comparison of the answer depends.
type ListRequest struct {
	Method       string
	Cursor       string // "" asks for the first page
	Capabilities []byte // of the client
	Logs         bool   // the client wants to be sent warnings that belong to the request
	Level        string // of a logging/setLevel
}

// UnknownCursor stands for a cursor that is not known. It is not UTF-8, so no server can have
// given it.
const UnknownCursor = "\xff"

// CursorOf returns the cursor in the params of a tools/list. params is nil if they are not
// held in memory.
func CursorOf(params []byte) string {
	var p struct {
		Cursor *string `json:"cursor"`
	}
	switch err := json.Unmarshal(params, &p); {
	case err != nil:
		return UnknownCursor
	case p.Cursor == nil:
		return ""
	case *p.Cursor == "":
		return UnknownCursor
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

// ModernRequest returns what the _meta of a modern request says of the client (2026-07-28,
// "Request metadata").
func ModernRequest(method string, meta []byte) ListRequest {
	const prefix = "io.modelcontextprotocol/"
	r := ListRequest{Method: method}
	EachMember(meta, func(name string, _ int64, value []byte) {
		switch name {
		case prefix + "clientCapabilities":
			r.Capabilities = bytes.Clone(value)
		case prefix + "logLevel":
			var level string
			json.Unmarshal(value, &level)
			r.Logs = includesWarnings(level)
		}
	})
	return r
}

func includesWarnings(level string) bool {
	switch strings.ToLower(level) {
	case "debug", "info", "notice", "warning":
		return true
	}
	return false
}
