package grantcmd

import (
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// switchTools switches tools, and asks before it writes the file. Sessions take that up without a new process.
func (e *Edit) switchTools(c terminal.Console, tools []string, how How) error {
	to := &setting{then: "A session that runs has it within a second."}
	for _, tool := range tools {
		to.words = append(to.words, change.AsTyped([]string{"--tool", tool}))
	}
	to.set = func(s *config.Server) error {
		for _, tool := range tools {
			s.Switch(tool, !e.remove)
		}
		return nil
	}
	if err := e.set(to); err != nil {
		return err
	}
	after, err := e.check(e.File, "")
	if err != nil {
		return err
	}
	for _, ch := range e.rest(e.was[""], after) {
		c.PrintText(show.Name(e.word) + ": " + show.Line(ch.Text) + ".\n")
	}
	means := "Clients see what is on, and can call it."
	if e.remove {
		means = "Clients do not see what is off, and calls of it are refused."
	}
	return e.finish(c, how, []string{means}, nil)
}
