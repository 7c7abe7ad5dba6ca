// Command mcp-jail-tls serves the connections of one jail whose requests have to be
// seen: see package confine/egress/handover. mcp-jail starts it; there is nothing to
// do with it by hand.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"github.com/mcp-jail/mcp-jail/confine/egress/handover"
	"github.com/mcp-jail/mcp-jail/confine/egress/terminate"
	"github.com/mcp-jail/mcp-jail/policy"
)

func main() {
	log.SetOutput(io.Discard) // net/http logs what peers sent
	err := handover.Run(func(rules []policy.NetRule, roots []byte) (handover.Worker, error) {
		return terminate.New(terminate.Options{Rules: rules, MoreRoots: roots})
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcp-jail-tls:", err)
		os.Exit(1)
	}
}
