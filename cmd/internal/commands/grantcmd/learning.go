package grantcmd

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// noteLearning says what a change does not do yet, because the server reads everything and reaches no host while
// its entry has --learn none.
func (g *grantCmd) noteLearning(p *plan) {
	if !slices.Contains(p.learns, cmdline.LearnFiles) {
		return
	}
	p.say("note", "the entry has --learn none: until  %s  takes that out, the server reads all files but sensitive ones, starts any program and reaches no host, and this changes only where it may write", show.Typed("mcp-jail learn --unwrap", g.server))
}
