package commands

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/target"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle"
)

// check --probe is a client of a normal session, so that a failing server gets the same
// diagnosis as under run. The client uses the legacy protocol, which every server
// understands. It sends a handful of messages and so needs no MCP library, which would slow down
// every start of mcp-jail.

const (
	clientProtocolVersion = "2025-06-18"
	maxToolPages          = 100 // of tools/list: a server could send pages for ever
)

type rpcResponse struct {
	ID     *int            `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// tryServer starts the server in its jail and adds its tools to the report.
func tryServer(t *target.Target, c terminal.Console, r *serverReport, timeout time.Duration) error {
	clientIn, sessionOut, err := os.Pipe()
	if err != nil {
		return err
	}
	defer clientIn.Close()
	sessionIn, clientOut, err := os.Pipe()
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()

	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	s := t.Session(terminal.Console{In: sessionIn, Out: sessionOut, Err: null}, confine.Launcher{Umask: c.Umask})
	var record diagnostics.Record
	s.Sink = func(r diagnostics.Record) { record = r }
	s.Linger = time.Second
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer sessionOut.Close()
		defer sessionIn.Close()
		if !t.Policy.Stateful {
			lifecycle.RunStateless(ctx, s, uncachedOptions(t))
			return
		}
		lifecycle.RunStateful(ctx, s)
	}()
	slow := time.AfterFunc(time.Second, func() { fmt.Fprintf(c.Err, "mcp-jail: starting %s ...\n", r.Server) })
	defer slow.Stop()

	err = (&checkClient{to: clientOut, from: bufio.NewReader(clientIn)}).listTools(r)
	clientOut.Close()
	go io.Copy(io.Discard, clientIn)
	<-ended
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the server did not list its tools within %v s", timeout.Seconds())
	}
	if n := len(record.Diagnoses); err != nil && n > 0 {
		// Take the diagnosis from the record: a server could forge an error response.
		d := record.Diagnoses[n-1]
		lines := append([]string{strings.TrimPrefix(d.Message(), "mcp-jail: ")}, d.Grant...)
		err = errors.New(strings.Join(lines, "\n"))
	}
	if err != nil && !t.Policy.Stateful {
		err = fmt.Errorf("%w\n%s", err, defaultPolicyHint)
	}
	return err
}

// defaultPolicyHint says how to mend a stateless server that does not list its tools.
const defaultPolicyHint = "With stateful = false the process that lists the tools has the default policy, and no table changes that. " +
	"If listing needs more access, make the server stateful and declare its access for the whole server. " +
	"Variables and limits can be granted to every process."

// uncachedOptions returns the options of a stateless session that asks the server itself:
// without the cached tool list of an earlier session and without warm processes.
func uncachedOptions(t *target.Target) lifecycle.Stateless {
	o := t.StatelessOptions()
	o.Catalog, o.Warm, o.Declared = nil, nil, nil
	return o
}

type checkClient struct {
	to     io.Writer
	from   *bufio.Reader
	lastID int
}

func (p *checkClient) listTools(r *serverReport) error {
	var hello struct {
		ServerInfo struct{ Name, Version string } `json:"serverInfo"`
	}
	params := map[string]any{
		"protocolVersion": clientProtocolVersion, "capabilities": map[string]any{},
		"clientInfo": map[string]string{"name": "mcp-jail check", "version": programs.Version},
	}
	if err := p.call("initialize", params, &hello); err != nil {
		return err
	}
	r.Probed = strings.TrimSpace(hello.ServerInfo.Name + " " + hello.ServerInfo.Version)
	if r.Probed == "" {
		r.Probed = "the server"
	}
	if err := p.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}); err != nil {
		return err
	}
	cursor := ""
	for range maxToolPages {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		// Not a toolReport: the server could set fields that mcp-jail reports as its own.
		var page struct {
			Tools []struct {
				Name        string `json:"name"`
				Description string `json:"description"`
			} `json:"tools"`
			NextCursor string `json:"nextCursor"`
		}
		if err := p.call("tools/list", params, &page); err != nil {
			return err
		}
		for _, tool := range page.Tools {
			r.Tools = append(r.Tools, toolReport{Name: tool.Name, Description: tool.Description})
		}
		if cursor = page.NextCursor; cursor == "" {
			return nil
		}
	}
	return fmt.Errorf("the tool list of the server has more than %d pages", maxToolPages)
}

func (p *checkClient) send(message map[string]any) error {
	b, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = p.to.Write(append(b, '\n'))
	return err
}

// call sends one request and waits for its response. It skips all other messages of the
// server.
func (p *checkClient) call(method string, params map[string]any, result any) error {
	p.lastID++
	if err := p.send(map[string]any{"jsonrpc": "2.0", "id": p.lastID, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		line, err := p.from.ReadBytes('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the server ended before it answered " + method)
			}
			return err
		}
		var a rpcResponse
		if json.Unmarshal(line, &a) != nil || a.ID == nil || *a.ID != p.lastID || a.Result == nil && a.Error == nil {
			continue
		}
		if a.Error != nil {
			return fmt.Errorf("the server answered %s with an error: %q", method, a.Error.Message)
		}
		return json.Unmarshal(a.Result, result)
	}
}
