// Command mcp-jail-tls serves the connections of one jail whose requests must be read, or those to a proxy that
// is reached by TLS.
// mcp-jail starts it; it cannot be used by hand. See package confine/egress/tlsworker.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"github.com/mcp-jail/mcp-jail/confine/egress/intercept"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
)

func main() {
	log.SetOutput(io.Discard) // the messages of net/http contain bytes that peers sent
	err := tlsworker.Run(func(s tlsworker.Setup) (tlsworker.Handler, error) { return intercept.New(intercept.Options(s)) })
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcp-jail-tls:", err)
		os.Exit(1)
	}
}
