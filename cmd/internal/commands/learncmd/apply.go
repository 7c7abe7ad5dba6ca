package learncmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// apply puts the policy where that of the server lives: it shows what changes, asks, and writes it.
func (l *lesson) apply() error {
	doubt := l.doubt()
	if doubt != "" && l.yes {
		return fmt.Errorf("nothing was changed, for %s. --yes alone does not write such a policy: without --yes, learn asks; --drive FILE has other requests, and --budget more time", doubt)
	}
	change, err := l.changeOf()
	if err != nil {
		return err
	}
	change.Show(l.c, l.host)
	if doubt != "" {
		l.c.Notef("%s %s", l.c.Paint(terminal.Yellow, "warning:"), doubt)
	}
	if err := l.confirm(doubt); err != nil {
		return err
	}
	return change.write(l)
}

// doubt says why the policy is not known to be enough, or "".
func (l *lesson) doubt() string {
	switch {
	case !l.verified && l.cut != "":
		return "the policy was not verified: " + l.cut
	case !l.verified:
		return "the policy was not verified"
	case len(l.differences) > 0:
		return "under this policy " + are(len(l.differences), "answer") + " not the same"
	case (perCall{l}).callsNothing():
		return "no tool was called: under this policy the server starts and lists its tools, and what they need is not in it"
	}
	return ""
}

func (l *lesson) confirm(doubt string) error {
	if l.yes {
		return nil
	}
	question := "Give this policy to " + l.name() + "?"
	if doubt != "" {
		question = "Give this policy to " + l.name() + " all the same?"
	}
	return cli.Confirm(context.Background(), l.c, question)
}

// write writes the change, and says how the server is started with it.
func (a *application) write(l *lesson) error {
	program, err := entries.FindProgram(l.host)
	if err == nil {
		err = a.Write(l.c, l.host)
	}
	switch {
	case err != nil:
		return err
	case len(a.Entries) > 0:
	case a.isNew:
		l.c.PrintText("\nTo use it, in the file of a client:\n  " + clientLine(program.Path, a.name) + "\n")
	default:
		l.c.PrintText("\nTo use it: the next session has it\n")
	}
	return nil
}

// clientLine returns what an entry of a client's file says to start a server of the configuration.
func clientLine(program, server string) string {
	return fmt.Sprintf(`%s: { "command": %s, "args": ["run", %s] }`, show.Quote(server), show.Quote(program), show.Quote(server))
}

// appliable finds what could not be asked, or put in place, before anything is started.
func (k *learnCmd) appliable(c terminal.Console) error {
	switch {
	case k.asks() && !c.ErrIsTerminal():
		return exit.UsageErrorf("--net ask has questions, and there is no terminal to ask them on: name the hosts, such as  --net api.example.org")
	case (k.wraps || k.unwraps) && (k.wraps == k.unwraps || k.applies || k.command.Given || k.asks()):
		return exit.UsageErrorf("--wrap and --unwrap change the entry of a server in a client's file, and nothing else: use one of them, without --apply, --net ask and a command after --")
	case !k.applies:
		return nil
	case k.format == "json":
		return exit.UsageErrorf("--apply shows a difference and asks, and --format json is for programs: use one")
	case !k.yes && !c.Asks():
		return exit.UsageErrorf("--apply asks before it changes a file, and there is no terminal to ask on. In a script, use --yes")
	case len(k.Config) > 0:
		return exit.UsageErrorf("--apply is for your configuration and the files of your clients: leave --config out")
	}
	return nil
}

// byHand is the error of a policy that the user must put in place.
func byHand(format string, args ...any) error {
	return fmt.Errorf("nothing was changed: %s. `%s learn` without --apply prints the table, to be put there by hand", fmt.Sprintf(format, args...), programs.Main)
}

// isRelative reports whether a path of a rule starts from the workspace.
func isRelative(path string) bool {
	return !strings.HasPrefix(path, "/") && path != "~" && !strings.HasPrefix(path, "~/")
}
