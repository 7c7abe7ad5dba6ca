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

	"github.com/mcp-jail/mcp-jail/internal/testkit"
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
