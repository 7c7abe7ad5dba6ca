package grantcmd

import (
	"fmt"
	"os"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// setPerCall shows what each process gains and loses by one for each call, or by one for all of them, and asks before it
// writes the file.
func (e *Edit) setPerCall(c terminal.Console, how How) error {
	was := e.was[""]
	if was.target.Policy.Stateful == e.remove {
		c.PrintText("Nothing to change.\n")
		return nil
	}
	if e.isLine() {
		return terminal.UsageErrorf("a process for each call is for a server with an id. To give it one:\n  %s", show.Typed("mcp-jail wrap --server", e.of.Called[0]))
	}
	err := e.use("")
	if err != nil {
		return err
	}
	to := &setting{words: []string{"--per-call"}, then: e.nextSession()}
	to.set = func(s *config.Server) error { return e.grants.SetPerCall(s, !e.remove, isDir) }
	if err := e.set(to); err != nil {
		return err
	}
	lists, err := e.check(e.File, "")
	if err != nil {
		return err
	}
	perCall := e.File
	if e.remove {
		perCall = e.before
	}
	calls, err := e.check(perCall, config.AnyTool)
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
