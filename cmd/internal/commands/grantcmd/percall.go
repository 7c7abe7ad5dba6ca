package grantcmd

import (
	"fmt"
	"os"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// perCall returns a file of the server with a process for each call of a tool, or with one for all of them.
func (e *Edit) perCall(f *config.ServerFile) (*config.ServerFile, error) {
	f, err := f.Checked()
	if err != nil {
		return nil, err
	}
	if err := e.grants.SetPerCall(f.Server, !e.remove, isDir); err != nil {
		return nil, terminal.UsageErrorf("nothing was changed: %s", err)
	}
	if f, err = f.Checked(); err != nil {
		return nil, refusal(err)
	}
	return f, nil
}

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
	if e.File, err = e.perCall(e.before); err != nil {
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
	back := "\nIf it cannot list its tools then, take it back:\n  " + e.Command("", []string{"--remove", "--per-call"})
	if e.remove {
		means, back = []string{"One process serves the whole session then, with all of this."}, ""
	}
	if isNew, err := e.replace(c, how, means, e.perCall); !isNew || err != nil {
		return err
	}
	session.LogGrant(c, e.host, e.was[""].target.Policy, how.By, []string{"--per-call"})
	c.PrintText(c.Paint(terminal.Green, "Done.") + " " + e.nextSession() + back + "\n")
	return nil
}
