package session

import (
	"context"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
)

// Prove makes the self-test of a Mac if there is no result, before a command asks what can be enforced.
// What it finds out is in each plan. On other systems it does nothing.
func Prove(ctx context.Context, c terminal.Console) {
	confine.Prove(ctx, false, func(line string) { c.Sayf("%s", line) })
}
