package callcmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

// TestCall tests a call: what the server is told of the client, what it may ask meanwhile, and what the
// caller gets.
func TestCall(t *testing.T) {
	for _, c := range testkit.Table[struct {
		name, root string
		answers    []string // to the call; ID stands for its id
		want       string
		sent       []string
		unsent     string
	}](t, "conn.txt") {
		ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
		fromServer, out := io.Pipe()
		in, toServer := io.Pipe()
		done := make(chan string)
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
				case "tools/call":
					for _, a := range c.answers {
						fmt.Fprintln(out, strings.ReplaceAll(a, "ID", string(m.ID)))
						// The client answers a request of the server before it reads on.
						if strings.Contains(a, `"method"`) && strings.Contains(a, `"id"`) && lines.Scan() {
							sent.WriteString(lines.Text() + "\n")
						}
					}
					if c.answers == nil {
						out.Close()
					}
				}
			}
			done <- sent.String()
		}()
		progress := ""
		conn, err := Open(ctx, Client{Name: "test", Root: c.root, Progress: func(p Progress) { progress += fmt.Sprintf(" progress %v of %v: %s", p.Progress, p.Total, p.Message) }}, fromServer, toServer)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		result, err := conn.call("t", json.RawMessage(`{"n":12345678901234567890}`))
		got := string(result) + progress
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

const hello = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"},"instructions":"be good"}`

// asked lets Ask talk to a server that answers each request with the next of some results, an
// error if it begins with "!", another line if it begins with "+", and that then ends. It
// returns what the server was sent, too.
func asked(t *testing.T, results ...string) (a *answer, sent []string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	fromServer, out := io.Pipe()
	in, toServer := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer out.Close()
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			sent = append(sent, lines.Text())
			var request struct {
				ID     json.RawMessage
				Method string
			}
			if json.Unmarshal(lines.Bytes(), &request); request.ID == nil || request.Method == "" {
				continue
			}
			for len(results) > 0 && results[0][0] == '+' {
				fmt.Fprintln(out, results[0][1:])
				results = results[1:]
			}
			if len(results) == 0 {
				break
			}
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, results[0])
			if text, failed := strings.CutPrefix(results[0], "!"); failed {
				answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"%s"}}`, request.ID, text)
			}
			results = results[1:]
			fmt.Fprintln(out, answer)
		}
	}()
	a, err = Ask(ctx, "test", fromServer, toServer)
	go io.Copy(io.Discard, fromServer)
	in.Close()
	<-done
	return a, sent, err
}

// TestAsk tests what a client learns: the tools of all pages in their order, with no member
// but those that a report may have, and the pin that a session makes of the same answers.
func TestAsk(t *testing.T) {
	const first = `{"tools":[{"name":"read","description":"reads","policy":"nothing","where":"mcp-jail.toml:1","warm":3,` +
		`"inputSchema":{"type":"object","x-own":[1]},"errors":["e"],"gaps":[{"axis":"fs"}],"Policy":"nothing"}],"nextCursor":"two"}`
	const second = `{"tools":[{"name":"another","inputSchema":{"type":"object"}}]}`
	a, sent, err := asked(t, "+no message", `+{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, hello,
		`+{"jsonrpc":"2.0","id":"1","method":"roots/list"}`, `+{"jsonrpc":"2.0","id":1,"method":"ping"}`, first, second)
	testkit.Must(t, err)
	got, err := json.Marshal(a.Tools)
	testkit.Must(t, err)
	if want := `[{"name":"read","description":"reads"},{"name":"another","description":""}]`; string(got) != want || a.Name != "n" || a.Version != "1" {
		t.Errorf("%s %s: %s\nwant %s", a.Name, a.Version, got, want)
	}
	all := strings.Join(sent, "\n")
	for _, want := range []string{`"protocolVersion":"2025-06-18"`, `"capabilities":{}`, `"name":"test"`, `notifications/initialized`, `"cursor":"two"`,
		`"id":"1","error":{"code":-32601`, `"id":1,"result":{}`} {
		if !strings.Contains(all, want) {
			t.Errorf("the server was not sent %s:\n%s", want, all)
		}
	}
	if strings.Contains(all, "discover") {
		t.Errorf("a legacy handshake began with server/discover:\n%s", all)
	}
	p, err := a.Pin()
	testkit.Must(t, err)
	server, err := toolpin.ReadServer([]byte(hello))
	testkit.Must(t, err)
	want, err := toolpin.New(server, []byte(first), []byte(second))
	if err != nil || len(toolpin.Compare(want, p)) > 0 || len(p.Tools) != 2 || !strings.Contains(string(p.Find("read").Definition), "x-own") || p.Server.Instructions != "be good" {
		t.Errorf("%v, %+v", err, p)
	}
}

// TestAskFails tests the words for servers that do not list their tools.
func TestAskFails(t *testing.T) {
	endless := make([]string, 0, maxPages+2)
	for range maxPages + 1 {
		endless = append(endless, `{"tools":[],"nextCursor":"more"}`)
	}
	for name, c := range map[string]struct {
		results []string
		want    string
	}{
		"ends at once":     {nil, "the server ended before it answered initialize"},
		"ends later":       {[]string{hello}, "the server ended before it answered tools/list"},
		"an error":         {[]string{hello, `!no \u001b tools`}, `the server answered tools/list with an error: "no \x1b tools"`},
		"no list":          {[]string{hello, `{"tools":7}`}, "the answer of the server to tools/list cannot be read: json: cannot unmarshal number"},
		"no such protocol": {[]string{`{"protocolVersion":"1999-01-01"}`}, `the server answered initialize with the protocol version "1999-01-01", which does not exist`},
		"pages for ever":   {append([]string{hello}, endless...), "the tool list of the server has more than 100 pages"},
	} {
		if _, _, err := asked(t, c.results...); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
	talks, in := io.Pipe()
	go io.Copy(io.Discard, talks)
	_, err := Ask(t.Context(), "test", endlessly{}, in)
	if err == nil || err.Error() != "the server said more than 64 MiB before it answered initialize" {
		t.Errorf("a server that never stops: %v", err)
	}
}

// endlessly is a server that never stops to speak.
type endlessly struct{}

func (endlessly) Read(b []byte) (int, error) {
	copy(b, bytes.Repeat([]byte(" "), len(b)-1))
	b[len(b)-1] = '\n'
	return len(b), nil
}

// TestTake tests that a message does not announce lines of the server that are not shown.
func TestTake(t *testing.T) {
	t.Setenv("COLUMNS", "1000")
	const own = `server "s" writes lines that are not MCP messages; they are shown here instead (mcp-jail help stdout):`
	for verbose, want := range map[bool]string{
		false: ownPrefix + `server "s" writes lines that are not MCP messages; --verbose shows them (mcp-jail help stdout)` + "\n",
		true:  ownPrefix + own + "\n  | rubbish\n",
	} {
		file, err := os.Create(filepath.Join(t.TempDir(), "err"))
		testkit.Must(t, err)
		defer file.Close()
		s := &clientSession{console: terminal.New(nil, nil, file), verbose: verbose}
		s.take(ownPrefix+own, own, true)
		s.take("rubbish", "rubbish", false)
		if got, _ := os.ReadFile(file.Name()); string(got) != want {
			t.Errorf("verbose %t: %q, want %q", verbose, got, want)
		}
	}
}
