package mcpproxy_test

import (
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
