package mcpproxy_test

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// A hook adds a member of _meta to a server's response. Every other byte stays the
// same.
func Example() {
	client := mcpproxy.NewConn(strings.NewReader(
		`{"id":9007199254740993,"method":"tools/call","params":{"name":"search"}}`), os.Stdout, 0)
	server := mcpproxy.NewConn(strings.NewReader(
		"Server listening\n"+
			`{"jsonrpc":"2.0", "id":9007199254740993, "result":{"content":[]}}`+"\n"), io.Discard, 0)
	p := mcpproxy.NewProxy(client, mcpproxy.Hooks{
		ServerResponse: func(f *mcpproxy.Frame, e *mcpproxy.Envelope, c *mcpproxy.Call) {
			f.AddMeta(&e.Result, &e.ResultMeta, "org.example/tool", fmt.Appendf(nil, "%q", c.Tool))
		},
		NonMessage: func(f *mcpproxy.Frame) { fmt.Printf("not for the client: %s", f.Bytes()) },
	})
	// A program would run the two directions on two goroutines.
	if err := p.RunClient(server); err != nil {
		fmt.Println(err)
	}
	if err := p.RunServer(server); err != nil {
		fmt.Println(err)
	}
	// Output:
	// not for the client: Server listening
	// {"jsonrpc":"2.0", "id":9007199254740993, "result":{"content":[],"_meta":{"org.example/tool":"search"}}}
}

// The envelope of one line.
func ExampleScanner() {
	var s mcpproxy.Scanner
	messages, flaws := s.Scan([]byte(`{"id":1.0,"method":"tools\/call","params":{"name":"search"},"Method":"x"}`))
	e := messages[0]
	fmt.Printf("%s %s %s, strict: %v\n", e.ID, e.Method, e.Name, flaws.IsStrict())
	// Output: 1.0 tools/call search, strict: false
}
