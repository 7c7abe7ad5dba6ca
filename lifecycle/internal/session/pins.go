package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

// Pins keeps the tool definitions of a server from one session to the next. Several
// goroutines may use it. Add runs when the client has its answer.
type Pins interface {
	// Name returns the name of the pin for a client with these capabilities, which are
	// JSON, or nil.
	Name(capabilities []byte) string
	// Pinned returns the pins by their names. With fresh it reads them again; without it,
	// it may return the pins of the start. The map and the pins must not change afterwards.
	Pinned(fresh bool) (map[string]*toolpin.Pin, error)
	// Add pins a list that is new.
	Add(name string, p *toolpin.Pin) error
	// Accept returns the command that removes the pins.
	Accept() string
}

const (
	maxListBytes = 16 << 20 // of all pages of one list
	saveDelay    = 20 * time.Millisecond
	maxTold      = 100 // differences that a session tells of
)

// toolCheck compares what the server says about its tools with the pins, for one session.
// The methods of a nil toolCheck do nothing.
type toolCheck struct {
	client  *Client
	pins    Pins
	enforce bool
	Redact  *diagnostics.Redactor // of the process that the client has

	mu      sync.Mutex // held while something is compared, never while something is sent
	pinned  map[string]*toolpin.Pin
	servers map[string]toolpin.Server // by the name of the pin; without an entry nothing is known
	lists   map[string]*pagedList     // by the name of the pin
	told    map[string]bool
	refused atomic.Pointer[diagnostics.Diagnosis] // the answer to every list and call
}

// pagedList holds the pages of a list that is not complete yet.
type pagedList struct {
	pages [][]byte
	size  int
	next  string // cursor
}

func newToolCheck(c *Client) *toolCheck {
	if c.Config.Pins == nil {
		return nil
	}
	return &toolCheck{
		client: c, pins: c.Config.Pins, enforce: c.Config.EnforcePins,
		servers: map[string]toolpin.Server{}, lists: map[string]*pagedList{}, told: map[string]bool{},
	}
}

// Refusal returns the diagnosis that answers calls of tools, or nil.
func (c *toolCheck) Refusal() *diagnostics.Diagnosis {
	if c == nil {
		return nil
	}
	return c.refused.Load()
}

// Enforces reports whether the client must not see what is not pinned.
func (c *toolCheck) Enforces() bool { return c != nil && c.enforce }

// Handshake compares the result of initialize or server/discover, which is nil if it is not
// held in memory. A diagnosis is the answer in its place.
func (c *toolCheck) Handshake(asked ListRequest, result []byte) *diagnostics.Diagnosis {
	if c == nil {
		return nil
	}
	name := c.pins.Name(asked.Capabilities)
	server, err := toolpin.ReadServer(result)
	if result == nil {
		err = errNotInMemory
	}
	if err != nil {
		return c.unreadable(asked, "the answer to "+asked.Method, err)
	}
	c.mu.Lock()
	c.servers[name] = server
	verdict, err := c.judge(func(pins map[string]*toolpin.Pin) toolpin.Verdict { return toolpin.JudgeServer(pins, name, server) })
	c.mu.Unlock()
	if err != nil {
		return c.unreadable(asked, "", err)
	}
	return c.changed(asked, verdict)
}

// List compares a page of an answer to tools/list, which is nil if it is not held in memory.
// A diagnosis is the answer in its place.
func (c *toolCheck) List(asked ListRequest, page []byte) *diagnostics.Diagnosis {
	if c == nil {
		return nil
	}
	if d := c.Refusal(); d != nil {
		return d
	}
	name := c.pins.Name(asked.Capabilities)
	c.mu.Lock()
	p, part, err := c.read(name, asked, page)
	if err != nil {
		delete(c.lists, name)
		c.mu.Unlock()
		return c.unreadable(asked, "the list of tools", err)
	}
	verdict, err := c.judge(func(pins map[string]*toolpin.Pin) toolpin.Verdict { return toolpin.Judge(pins, name, p, part) })
	// At once in memory, so that the next page is compared; the file is written later.
	if verdict.New && err == nil {
		c.pinned = maps.Clone(c.pinned)
		if c.pinned == nil {
			c.pinned = map[string]*toolpin.Pin{}
		}
		c.pinned[name] = p
		c.save(func() error { return c.pins.Add(name, p) })
	}
	c.mu.Unlock()
	if err != nil {
		return c.unreadable(asked, "", err)
	}
	return c.changed(asked, verdict)
}

// read returns the pin of a page, or of the whole list if the page is its last one. The
// caller holds mu.
func (c *toolCheck) read(name string, asked ListRequest, page []byte) (p *toolpin.Pin, part bool, err error) {
	if page == nil {
		return nil, false, errNotInMemory
	}
	next := nextCursor(page)
	l := c.lists[name]
	switch {
	case asked.Cursor == "":
		l = &pagedList{}
	case l == nil || l.next != asked.Cursor:
		l = nil // a page of a list whose beginning is not known
	}
	delete(c.lists, name)
	pages := [][]byte{page}
	if l != nil {
		if l.size += len(page); l.size > maxListBytes {
			return nil, false, fmt.Errorf("the pages of the list have more than %d MiB", maxListBytes>>20)
		}
		if next == "" {
			pages = append(l.pages, page)
		} else {
			l.pages, l.next = append(l.pages, slices.Clone(page)), next
			c.lists[name] = l
		}
	}
	p, err = toolpin.New(c.servers[name], pages...)
	return p, l == nil || next != "", err
}

// judge compares with the pins of the session. If that finds a difference, it compares with the
// pins of now: another session, or the user, may have changed them. The caller holds mu.
func (c *toolCheck) judge(compare func(map[string]*toolpin.Pin) toolpin.Verdict) (toolpin.Verdict, error) {
	if c.pinned == nil {
		pinned, err := c.pins.Pinned(false)
		if err != nil {
			return toolpin.Verdict{}, err
		}
		c.pinned = pinned
	}
	verdict := compare(c.pinned)
	if len(verdict.Differences) == 0 {
		return verdict, nil
	}
	pinned, _ := c.pins.Pinned(true)
	if len(pinned) == 0 { // it cannot be read, or what this session has pinned is not written yet
		return verdict, nil
	}
	if now := compare(pinned); len(now.Differences) == 0 {
		c.pinned = pinned
		return now, nil
	}
	return verdict, nil
}

func (c *toolCheck) changed(asked ListRequest, verdict toolpin.Verdict) *diagnostics.Diagnosis {
	if len(verdict.Differences) == 0 {
		return nil
	}
	lines := make([]string, 0, len(verdict.Differences))
	refused := c.enforce && verdict.Refused()
	for _, d := range verdict.Differences {
		if !refused || !d.Mild() {
			lines = append(lines, c.Redact.Redact(d.String()))
		}
	}
	return c.tell(asked, lines, c.pins.Accept(), refused)
}

func (c *toolCheck) unreadable(asked ListRequest, what string, err error) *diagnostics.Diagnosis {
	text := err.Error()
	if err == errNotInMemory {
		text = what + " is larger than 4 MiB"
	}
	return c.tell(asked, []string{c.Redact.Redact(text)}, "", c.enforce)
}

// tell tells the user and the client of differences, each one once in a session. If refused is
// set, it returns a diagnosis instead, which is announced once and answers every list and call.
func (c *toolCheck) tell(asked ListRequest, lines []string, accept string, refused bool) *diagnostics.Diagnosis {
	about := diagnostics.Tools{Server: c.client.Config.Profile.Server, Differences: lines, Accept: accept, Refused: refused}
	if refused {
		d := about.Diagnosis()
		// The first difference stays the answer, so that the client hears one story.
		if c.refused.CompareAndSwap(nil, &d) {
			c.client.Announce(d)
		}
		return c.refused.Load()
	}
	c.mu.Lock()
	about.Differences = slices.DeleteFunc(lines, func(l string) bool {
		known := c.told[l] || len(c.told) >= maxTold
		if !known {
			c.told[l] = true
		}
		return known
	})
	c.mu.Unlock()
	if len(about.Differences) == 0 {
		return nil
	}
	warnings := about.Diagnosis().Warnings()
	for _, line := range warnings {
		c.client.warnNow(line)
	}
	c.client.notify(asked.Logs, warnings...)
	return nil
}

// save has something written after the client has its answer. Only a task of the session
// may call it.
func (c *toolCheck) save(write func() error) {
	c.client.Tasks.Go(func() {
		select {
		case <-time.After(saveDelay):
		case <-c.client.Shutdown.Done:
		}
		if err := write(); err != nil {
			c.client.warnNow(fmt.Sprintf("warning: the tools of server %q could not be pinned: %v", c.client.Config.Profile.Server, err))
		}
	})
}

var errNotInMemory = errors.New("the answer is not held in memory")

// ListRequest is the part of a request for a handshake or a list of tools on which the
// comparison of the answer depends.
type ListRequest struct {
	Method       string
	Cursor       string // "" asks for the first page
	Capabilities []byte // of the client
	Logs         bool   // the client wants to be sent warnings that belong to the request
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
