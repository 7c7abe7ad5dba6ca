package learncmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/callcmd"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// request is one request of a drive.
type request struct {
	Method string
	Params json.RawMessage // nil for none
	Tool   string          // of a tools/call
}

// String names a request for people.
func (r request) String() string {
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

// read reads a drive: MCP requests, one a line. A line that is empty or begins with # says nothing. Ids
// are left out of what is sent: each request gets its own. name stands for the file in errors.
func read(from io.Reader, name string) (requests []request, err error) {
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

func readRequest(line []byte) (r request, err error) {
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
	r = request{Method: m.Method, Params: m.Params}
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

// call returns the request that calls a tool.
func call(tool string, arguments json.RawMessage) request {
	params, _ := json.Marshal(struct { // fails for no text
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}{tool, arguments})
	return request{Method: callMethod, Params: params, Tool: tool}
}

// answer is what a server answered to a request: a result or an error.
type answer struct {
	Request request
	Result  json.RawMessage
	Error   *callcmd.ServerError
}

// Failed reports whether the answer is an error, or the result of a tool that says that it failed.
func (a answer) Failed() bool {
	_, failed := callcmd.ReadResult(a.Result)
	return failed || a.Error != nil
}

// played is one session of a drive.
type played struct {
	Server  string // the name and the version of the server
	Answers []answer
	Skipped []Skipped // tools that no request calls
	// Broken is why not all requests have an answer, or nil. Lost is the first one that has none.
	Broken error
	Lost   request
}

// Skipped is a tool that was not called, and why.
type Skipped struct {
	Tool, Why string
	Example   string // a line of a drive that calls it, with the smallest arguments; "" if none could be made
}

// player drives a server.
type player struct {
	Client   callcmd.Client
	Requests []request    // nil: what Probe makes of the lists of the server
	Place    place        // for Probe
	Each     func(answer) // gets each answer as it comes; may be nil
}

// play makes the handshake, lists the tools, and asks the requests in their order. The error is that of the
// handshake. The caller ends the server.
func (p *player) play(ctx context.Context, from io.Reader, to io.WriteCloser) (*played, error) {
	conn, err := callcmd.Open(ctx, p.Client, from, to)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	out := &played{Server: conn.Name + " " + conn.Version}
	requests := p.Requests
	tools, _, err := conn.Tools()
	a := answer{Request: request{Method: "tools/list"}}
	if err == nil || errors.As(err, &a.Error) { // else it has ended: the next request says so
		p.add(out, a)
	}
	if requests == nil {
		requests, out.Skipped = probe(tools, p.Place)
	}
	for _, r := range requests {
		a := answer{Request: r}
		if a.Result, err = conn.Request(r.Method, r.Params); err != nil && !errors.As(err, &a.Error) {
			out.Lost, out.Broken = r, fmt.Errorf("%s: %w", r, err)
			break
		}
		p.add(out, a)
	}
	return out, nil
}

func (p *player) add(out *played, a answer) {
	if out.Answers = append(out.Answers, a); p.Each != nil {
		p.Each(a)
	}
}

// place is where the server works. Arguments that are paths or addresses are taken from it.
type place struct {
	Workspace string   // absolute; "" for none
	File      string   // a file in it, relative to it; "" for none
	Hosts     []string // that the server may reach
}

// probe returns a call of each tool that says of itself that it only reads, with arguments that its schema
// allows. The other tools are skipped: what they would do is not guessed.
func probe(tools []callcmd.Tool, place place) (requests []request, skipped []Skipped) {
	requests = []request{}
	for _, t := range tools {
		arguments, err := argumentsFor(t.Name, t.InputSchema, place)
		call := call(t.Name, arguments)
		why := ""
		switch {
		case t.Name == "":
			why = "it has no name"
		case len(requests) >= maxRequests:
			why = "there are too many tools"
		case t.Annotations.ReadOnly == nil:
			why = "it does not say whether it only reads (readOnlyHint)"
		case !*t.Annotations.ReadOnly:
			why = "it says that it changes something"
		case err != nil:
			why = "no arguments could be made for it: " + err.Error()
		default:
			requests = append(requests, call)
			continue
		}
		s := Skipped{Tool: t.Name, Why: why}
		if t.Name != "" && err == nil {
			s.Example = `{"method": "tools/call", "params": ` + string(call.Params) + `}`
		}
		skipped = append(skipped, s)
	}
	return requests, skipped
}
