package wrapcmd

import (
	"errors"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// offerEarlier asks once whether to copy what wrapped servers of the user's own kept without a jail into their private
// HOMEs, as far as those lack it. With --yes it does not ask. Without a terminal it copies nothing.
func (w *wrapCmd) offerEarlier(c terminal.Console, home string) error {
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
		if seen[e.Home()] = true; len(seen) == 1 {
			c.Printf("\nKept by servers before, and not in their private HOMEs:\n")
		}
		for _, f := range e.Files() {
			to := cli.ShortPath(filepath.Join(e.Home(), f.To), home)
			c.PrintText("  " + index.ServerTitle(s.Entry) + "  " + show.Line("~/"+f.From) + " (" + cli.SizeText(f.Size) + ")\n    to " + show.Line(to) + "\n")
		}
		for _, why := range e.Left {
			c.PrintText("  " + index.ServerTitle(s.Entry) + "  " + c.Paint(terminal.Yellow, "not copied:") + " " + show.Line(why) + "\n")
		}
		if len(e.Files()) > 0 {
			found = append(found, e)
		}
	}
	if found == nil {
		return errors.Join(failed...)
	}
	switch yes, err := true, error(nil); {
	case w.yes:
	case !c.Asks():
		c.Printf("To copy it: mcp-jail wrap\n")
		return errors.Join(failed...)
	default:
		if yes, err = cli.AskNo(c, "Copy it? Yours stays as it is.", "nothing was copied, and what was wrapped stays so"); err != nil || !yes {
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
