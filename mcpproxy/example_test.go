package mcpproxy_test

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// A member is added to a frame without a change to any other byte.
func ExampleFrame_AddMember() {
	f, _ := mcpproxy.NewReader(strings.NewReader(`{"jsonrpc": "2.0", "id": 1.0, "result": {"big": 9007199254740993}}`+"\n"), 0).Next()
	f.AddMember(&f.Messages[0].Result, "note", []byte(`"kept"`))
	f.CopyTo(os.Stdout)
	// Output: {"jsonrpc": "2.0", "id": 1.0, "result": {"big": 9007199254740993,"note":"kept"}}
}

// A proxy relays between a client and a server, and prints which tools answer.
func ExampleProxy() {
	toServer, fromServer := io.Pipe()
	client := mcpproxy.NewConn(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search"}}`+"\n"), io.Discard, 0)
	// This server answers each message as it is written here.
	server := mcpproxy.NewConn(strings.NewReader(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`+"\n"), fromServer, 0)
	proxy := mcpproxy.NewProxy(client, mcpproxy.Hooks{
		ServerResponse: func(_ *mcpproxy.Frame, _ *mcpproxy.Envelope, c *mcpproxy.Call) { fmt.Printf("%s answered\n", c.Tool) },
	})

	var clientError error
	done := make(chan struct{})
	go func() {
		defer close(done)
		clientError = proxy.RunClient(server)
		fromServer.Close()
	}()
	sent, _ := io.ReadAll(toServer)
	<-done
	serverError := proxy.RunServer(server)
	fmt.Printf("%s%v %v\n", sent, clientError, serverError)
	// Output:
	// search answered
	// {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search"}}
	// <nil> <nil>
}
