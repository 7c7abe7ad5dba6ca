package wrapcmd

import (
	"errors"
	"fmt"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// offerLogins asks whether to copy the logins that wrapped servers got without a jail into their
// private HOME, as far as that lacks them. With --logins it does not ask. It copies only for servers
// that start with the preset of their package: nothing else is known to be the program that got them.
func (w *wrapCmd) offerLogins(c terminal.Console) error {
	servers, err := w.Choice.Wrapped()
	if err != nil {
		return err
	}
	found := false
	var failed []error
	for _, s := range servers {
		logins, err := s.Logins()
		if err != nil || logins.Dirs() == "" {
			failed = append(failed, err)
			continue
		}
		found = true
		ask := fmt.Sprintf("%s has a login of before in your %s. Copy it into its private HOME? Else it asks for a login.", entries.ServerTitle(s.Entry), logins.Dirs())
		copies := w.logins
		if !copies && !w.yes && c.Asks() {
			if copies, err = cli.AskYes(c, ask, "the login was not copied, and what was wrapped stays so"); err != nil {
				return errors.Join(append(failed, err)...)
			}
		}
		switch {
		case copies:
			told, err := logins.Copy()
			for _, line := range told {
				c.Printf("%s\n", show.Line(line))
			}
			failed = append(failed, err)
		default:
			c.Printf("%s has a login of before in your %s. To copy it into its private HOME: mcp-jail wrap --logins\n", entries.ServerTitle(s.Entry), logins.Dirs())
		}
	}
	if w.logins && !found && errors.Join(failed...) == nil {
		c.Printf("no login of before was found that a server does not have\n")
	}
	return errors.Join(failed...)
}
