package callcmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// answering is a server that answers a call with some lines, in which ID stands for the id of the call. Without any, it
// ends. At the end, done has what it was sent.
func answering(answers []string) (from io.Reader, to io.WriteCloser, done <-chan string) {
	from, out := io.Pipe()
	in, to := io.Pipe()
	all := make(chan string, 1)
	go func() {
		defer out.Close()
		var sent strings.Builder
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			sent.WriteString(lines.Text() + "\n")
			var m struct {
				ID     json.RawMessage
				Method string
			}
			json.Unmarshal(lines.Bytes(), &m)
			switch m.Method {
			case "initialize":
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, hello)
			case "tools/list", "tools/call":
				for _, a := range answers {
					fmt.Fprintln(out, strings.ReplaceAll(a, "ID", string(m.ID)))
					// The client answers a request of the server before it reads on.
					if strings.Contains(a, `"method"`) && strings.Contains(a, `"id"`) && lines.Scan() {
						sent.WriteString(lines.Text() + "\n")
					}
				}
				if answers == nil {
					out.Close()
				}
			}
		}
		all <- sent.String()
	}()
	return from, to, all
}

// TestCall tests a call: what the server is told of the client, what it may ask meanwhile, and what the
// caller gets.
func TestCall(t *testing.T) {
	for _, c := range []struct {
		name, root string
		answers    []string // to the call; ID stands for its id
		want       string
		sent       []string
		unsent     string
	}{
		{"a result as it is", "", []string{`{"jsonrpc":"2.0","id":ID,"result":{"content":[], "x" : 1.10}}`}, `{"content":[], "x" : 1.10}`, []string{`"capabilities":{}`, `"arguments":{"n":12345678901234567890}`}, "roots"},
		{"an error as it is", "", []string{`{"jsonrpc":"2.0","id":ID,"error":{"code":-7,"message":"no","data":{"a": 1}}}`}, `error -7 no {"a": 1}`, nil, ""},
		{"late and foreign answers", "", []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"ID","result":{}}`, `{"jsonrpc":"2.0","id":ID,"result":{"a":1}}`}, `{"a":1}`, nil, ""},
		{"roots of a project", "/home/me/a b", []string{`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`, `{"jsonrpc":"2.0","id":ID,"result":{}}`}, `{}`,
			[]string{`"capabilities":{"roots":{}}`, `"id":"r","result":{"roots":[{"uri":"file:///home/me/a%20b","name":"a b"}]}`}, ""},
		{"no roots without one", "", []string{`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`, `{"jsonrpc":"2.0","id":ID,"result":{}}`}, `{}`, []string{`"id":"r","error":{"code":-32601`}, "file:"},
		{"neither sampling nor elicitation", "/p", []string{`{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{}}`, `{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{}}`, `{"jsonrpc":"2.0","id":ID,"result":{}}`}, `{}`,
			[]string{`"id":"s","error":{"code":-32601`, `"id":"e","error":{"code":-32601`}, ""},
		{"the end", "", nil, "the server ended before it answered tools/call", nil, ""},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
		fromServer, toServer, done := answering(c.answers)
		conn, err := Open(ctx, Client{Name: "test", Root: c.root}, fromServer, toServer)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		result, err := conn.call("t", json.RawMessage(`{"n":12345678901234567890}`))
		got := string(result)
		var answered *ServerError
		if errors.As(err, &answered) {
			got = fmt.Sprintf("error %d %s %s", answered.Code, answered.Message, answered.Data)
		} else if err != nil {
			got = err.Error()
		}
		conn.Close()
		sent := <-done
		cancel()
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		for _, want := range append(c.sent, `"name":"t"`) {
			if !strings.Contains(sent, want) {
				t.Errorf("%s: the server was not sent %s:\n%s", c.name, want, sent)
			}
		}
		if c.unsent != "" && strings.Contains(sent, c.unsent) {
			t.Errorf("%s: the server was sent %s:\n%s", c.name, c.unsent, sent)
		}
	}
}

// TestLibrary shows why Conn is not the client of mcp-go: a call shows what the server said, a pin covers all of a
// definition, and a drive has requests of any method. A row that fails is something that the library has learned.
func TestLibrary(t *testing.T) {
	list := func(c *client.Client) (any, error) { return c.ListTools(t.Context(), mcp.ListToolsRequest{}) }
	call := func(c *client.Client) (any, error) { return c.CallTool(t.Context(), mcp.CallToolRequest{}) }
	for _, c := range []struct {
		name   string
		ask    func(*client.Client) (any, error)
		answer string
		want   string // all that the library gives of it
	}{
		{"an error has neither code nor data", call, `"error":{"code":-31005,"message":"no","data":{"dev.mcp-jail/failure":{}}}`, "*errors.errorString no"},
		{"or other words", call, `"error":{"code":-32603,"message":"no"}`, "*fmt.wrapError internal error: no"},
		{"a result has no members of its own", call, `"result":{"content":[{"type":"text","text":"a","x":1.10}],"y":1}`, `{"content":[{"type":"text","text":"a"}]}`},
		{"nor another kind of content", call, `"result":{"content":[{"type":"new"}]}`, "*fmt.wrapError failed to unmarshal response: unknown content type: new"},
		{"nor has a definition", list, `"result":{"tools":[{"name":"a","inputSchema":{"type":"object","x":1},"y":1}]}`,
			`{"tools":[{"annotations":{},"inputSchema":{"properties":{},"required":[],"type":"object"},"name":"a"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to, _ := answering([]string{`{"jsonrpc":"2.0","id":ID,` + c.answer + `}`})
			lib := client.NewClient(transport.NewIO(from, to, nil), client.WithProtocolVersion(protocolVersion))
			defer lib.Close()
			testkit.Must(t, lib.Start(t.Context()))
			_, err := lib.Initialize(t.Context(), mcp.InitializeRequest{})
			testkit.Must(t, err)
			result, err := c.ask(lib)
			b, _ := json.Marshal(result)
			got := string(b)
			if err != nil {
				got = fmt.Sprintf("%T %v", err, err)
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
