package lifecycle_test

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A client whose server cannot be started gets an error for each request.
func ExampleRefuse() {
	in, client, _ := os.Pipe()
	answers, out, _ := os.Pipe()
	null, _ := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	fmt.Fprintln(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	client.Close()
	lifecycle.Refuse(context.Background(), lifecycle.Session{Profile: &policy.Profile{Server: "notes"}, In: in, Out: out, Err: null}, diagnostics.ConfigFailure("notes", "there is no file notes.toml"))
	out.Close()
	answer, _ := io.ReadAll(answers)
	fmt.Printf("%.60s", answer)
	// Output: {"jsonrpc":"2.0","id":1,"error":{"code":-31004,"message":"mc
}
