// Package drive asks a server a list of MCP requests and keeps its answers.
//
//   - drive.go has the requests and their answers.
//   - probe.go makes requests that change nothing, from the list of tools.
//   - values.go makes the arguments of a call from the schema of a tool.
package drive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mcp-jail/mcp-jail/cmd/internal/handshake"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Request is one request of a drive.
type Request struct {
	Method string
	Params json.RawMessage // nil for none
	Tool   string          // of a tools/call
}

// String names a request for people.
func (r Request) String() string {
	if r.Tool != "" {
		return show.InSentence(r.Tool)
	}
	return show.Name(r.Method)
}

const callMethod = "tools/call"

const (
	maxRequests = 1000
	maxFile     = 16 << 20
)

// Read reads a drive: MCP requests, one a line. A line that is empty or begins with # says nothing. Ids
// are left out of what is sent: each request gets its own. name stands for the file in errors.
func Read(from io.Reader, name string) (requests []Request, err error) {
	lines := bufio.NewScanner(io.LimitReader(from, maxFile))
	lines.Buffer(nil, maxFile)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(bytes.TrimPrefix(lines.Bytes(), []byte("\ufeff")))
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		r, err := readRequest(line)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, n, err)
		}
		switch r.Method {
		case "initialize", "notifications/initialized":
			continue // the drive begins with its own
		}
		if requests = append(requests, r); len(requests) > maxRequests {
			return nil, fmt.Errorf("%s has more than %d requests", name, maxRequests)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(requests) == 0 {
		return nil, fmt.Errorf(`%s has no request: write one a line, such as {"method": "tools/call", "params": {"name": "TOOL", "arguments": {}}}`, name)
	}
	return requests, nil
}

func readRequest(line []byte) (r Request, err error) {
	var m struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return r, fmt.Errorf("no JSON object: %w", err)
	}
	if m.Method == "" {
		return r, errors.New(`no "method"`)
	}
	if len(m.Params) > 0 && m.Params[0] != '{' {
		return r, errors.New(`"params" must be an object`)
	}
	r = Request{Method: m.Method, Params: m.Params}
	if r.Method != callMethod {
		return r, nil
	}
	var call struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(m.Params, &call) != nil || call.Name == "" {
		return r, errors.New(`a tools/call without the "name" of a tool`)
	}
	r.Tool = call.Name
	return r, nil
}

// Call returns the request that calls a tool.
func Call(tool string, arguments json.RawMessage) Request {
	params, _ := json.Marshal(struct { // fails for no text
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}{tool, arguments})
	return Request{Method: callMethod, Params: params, Tool: tool}
}

// Answer is what a server answered to a request: a result or an error.
type Answer struct {
	Request Request
	Result  json.RawMessage
	Error   *handshake.ServerError
}

// Failed reports whether the answer is an error, or the result of a tool that says that it failed.
func (a Answer) Failed() bool {
	if a.Error != nil {
		return true
	}
	var r struct {
		IsError bool `json:"isError"`
	}
	return json.Unmarshal(a.Result, &r) == nil && r.IsError
}

// Played is one session of a drive.
type Played struct {
	Server  string // the name and the version of the server
	Answers []Answer
	Skipped []Skipped // tools that no request calls
	// Broken is why not all requests have an answer, or nil. Lost is the first one that has none.
	Broken error
	Lost   Request
}

// Skipped is a tool that was not called, and why.
type Skipped struct {
	Tool, Why string
	Example   string // a line of a drive that calls it, with the smallest arguments; "" if none could be made
}

// Player drives a server.
type Player struct {
	Client   handshake.Client
	Requests []Request    // nil: what Probe makes of the lists of the server
	Place    Place        // for Probe
	Each     func(Answer) // gets each answer as it comes; may be nil
}

// Play makes the handshake, lists the tools, and asks the requests in their order. The error is that of the
// handshake. The caller ends the server.
func (p *Player) Play(ctx context.Context, from io.Reader, to io.WriteCloser) (*Played, error) {
	conn, err := handshake.Open(ctx, p.Client, from, to)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	out := &Played{Server: conn.Name + " " + conn.Version}
	requests := p.Requests
	lists, tools := list(conn)
	for _, a := range lists {
		p.add(out, a)
	}
	if requests == nil {
		requests, out.Skipped = Probe(tools, p.Place)
	}
	for _, r := range requests {
		a := Answer{Request: r}
		if a.Result, err = conn.Request(r.Method, r.Params); err != nil && !errors.As(err, &a.Error) {
			out.Lost, out.Broken = r, fmt.Errorf("%s: %w", r, err)
			break
		}
		p.add(out, a)
	}
	return out, nil
}

func (p *Player) add(out *Played, a Answer) {
	if out.Answers = append(out.Answers, a); p.Each != nil {
		p.Each(a)
	}
}

// list asks for the lists that the server says it has: its tools, and for what they tell of its files the
// resources, their templates and the prompts. It returns the pages of tools, too.
func list(conn *handshake.Conn) (answers []Answer, tools [][]byte) {
	var hello struct {
		Capabilities map[string]json.RawMessage `json:"capabilities"`
	}
	json.Unmarshal(conn.Hello(), &hello)
	r := Request{Method: "tools/list"}
	tools, err := conn.Tools()
	a := Answer{Request: r}
	a.Result, _ = json.Marshal(rawPages(tools))
	var refused *handshake.ServerError
	if errors.As(err, &refused) {
		a.Error = refused
	}
	answers = append(answers, a)
	if err != nil && a.Error == nil {
		return answers, tools // it has ended: the next request says so
	}
	for _, more := range []struct{ capability, method string }{{"resources", "resources/list"}, {"resources", "resources/templates/list"}, {"prompts", "prompts/list"}} {
		if _, has := hello.Capabilities[more.capability]; !has {
			continue
		}
		a := Answer{Request: Request{Method: more.method}}
		if a.Result, err = conn.Request(more.method, nil); err != nil && !errors.As(err, &a.Error) {
			break
		}
		answers = append(answers, a)
	}
	return answers, tools
}

func rawPages(pages [][]byte) (raw []json.RawMessage) {
	for _, p := range pages {
		raw = append(raw, p)
	}
	return raw
}
