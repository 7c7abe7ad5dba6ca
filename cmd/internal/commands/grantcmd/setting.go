package grantcmd

import (
	"fmt"
	"os"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// setting is a change of the file that grants nothing: which tools are on, or a process for each call.
type setting struct {
	words []string                   // of the command
	set   func(*config.Server) error // makes the change
	then  string                     // when it holds
}

// set makes a change of a setting.
func (e *Edit) set(to *setting) error {
	f, err := changed(e.File(), func(s *config.Server) error {
		if err := to.set(s); err != nil {
			return terminal.UsageErrorf("nothing was changed: %s", err)
		}
		return nil
	})
	if err == nil {
		e.setting, e.now = to, e.now.with(f)
	}
	return err
}

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
	before, after, err := e.both("")
	if err != nil {
		return err
	}
	for _, ch := range e.rest(before, after) {
		c.PrintText(show.Name(e.word) + ": " + show.Line(ch.Text) + ".\n")
	}
	means := "Clients see what is on, and can call it."
	if e.remove {
		means = "Clients do not see what is off, and calls of it are refused."
	}
	return e.finish(c, how, []string{means}, nil)
}

// setPerCall shows what each process gains and loses by one for each call, or by one for all of them, and asks before it
// writes the file.
func (e *Edit) setPerCall(c terminal.Console, how How) error {
	if e.policy().Stateful == e.remove {
		c.PrintText("Nothing to change.\n")
		return nil
	}
	if e.isLine() {
		return terminal.UsageErrorf("a process for each call is for a server with an id. To give it one:\n  %s", show.Typed("mcp-jail wrap --server", e.of.Called[0]))
	}
	to := &setting{words: []string{"--per-call"}, then: e.nextSession()}
	to.set = func(s *config.Server) error { return config.Grants{At: e.at}.SetPerCall(s, !e.remove, isDir) }
	if err := e.set(to); err != nil {
		return err
	}
	was, lists, err := e.both("")
	if err != nil {
		return err
	}
	perCall := e.now
	if e.remove {
		perCall = e.was
	}
	calls, err := perCall.of(config.AnyTool)
	if err != nil {
		return err
	}
	called, then := was, calls
	if e.remove {
		called, then = calls, lists
	}
	for _, p := range []struct {
		what       string
		was, after *checked
	}{{"a call of a tool", called, then}, {"the process that lists the tools", was, lists}} {
		warnings, err := p.after.since(p.was)
		if err != nil {
			return err
		}
		if rows := e.rows(nil, p.was, p.after, e.rest(p.was, p.after)); len(rows) > 0 {
			c.PrintText(fmt.Sprintf("\n  for %s:\n\n%s", p.what, table80(rows)))
		}
		for _, w := range warnings {
			note(c, w)
		}
	}
	means := []string{"Each call of a tool has a process of its own then, and a copy of HOME that is thrown away.",
		"That is for a server whose calls do not depend on one another."}
	if e.remove {
		means = []string{"One process serves the whole session then, with all of this."}
	} else {
		to.then += "\nIf it cannot list its tools then, take it back:\n  " + e.Command("", []string{"--remove", "--per-call"})
	}
	return e.finish(c, how, means, nil)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
