package wrapcmd

import (
	"errors"
	"fmt"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// copyEarlier copies what wrapped servers of the user's own kept without a jail into their own HOMEs, as far as those lack
// it. If the user has not agreed already, it asks. Without a terminal it then copies nothing.
func (w *wrapCmd) copyEarlier(c terminal.Console, home string, agreed bool) error {
	x, err := w.Choice.Read()
	if err != nil {
		return err
	}
	var found []session.Earlier
	var failed []error
	seen := map[string]bool{} // several entries may have one id
	for _, server := range x.Servers {
		s, err := server.JailedEntry("")
		if err != nil || !w.Has(s.Server) {
			continue
		}
		e, err := s.Earlier()
		if failed = append(failed, err); err != nil || len(e.Files())+len(e.Left) == 0 || seen[e.Home()] {
			continue
		}
		seen[e.Home()] = true
		for _, f := range e.Files() {
			c.PrintText(fmt.Sprintf("%s has %s (%s) from before, and its own HOME has not.\n", index.ServerTitle(s.Entry), show.Line("~/"+f.From), cli.SizeText(f.Size)))
		}
		for _, why := range e.Left {
			c.PrintText(fmt.Sprintf("For %s this is not copied: %s.\n", index.ServerTitle(s.Entry), show.Line(why)))
		}
		if len(e.Files()) > 0 {
			found = append(found, e)
		}
	}
	if found == nil || !agreed && !w.yes && !c.Asks() {
		return errors.Join(failed...)
	}
	if !agreed && !w.yes {
		yes, err := cli.AskNo(c, "Copy it there? Yours stays as it is.", "nothing was copied. Your servers are wrapped")
		if err != nil || !yes {
			return errors.Join(append(failed, err)...)
		}
	}
	for _, e := range found {
		told, err := e.Copy()
		for _, line := range told {
			c.Printf("%s\n", show.Line(line))
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
