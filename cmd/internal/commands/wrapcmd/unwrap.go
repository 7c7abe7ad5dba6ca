package wrapcmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func Unwrap(line *cli.CommandLine) *cobra.Command {
	u := &changeCmd{}
	cmd := line.Command("unwrap [flags]", "Take mcp-jail out of the files of MCP clients again.", 0, false, func([]string) error {
		return u.unwrap(line.Console)
	})
	cmd.Long = `unwrap undoes what wrap did. Without a selection it means the same files as wrap. It
needs no memory of them: the wrapped entry contains the original command line. An
entry that starts a server of the configuration gets the command of its table. The
rest of the file stays as it is, whatever has changed it since.

What mcp-jail keeps of the servers stays, their policy and their own files among it: see
` + "`mcp-jail status --all`" + `. The same command line gets it again.`
	cmd.Example = `    mcp-jail unwrap --dry-run
    mcp-jail unwrap
    mcp-jail unwrap --client cursor --server github`
	u.addTo(cmd)
	return cmd
}

func (w *changeCmd) unwrap(c terminal.Console) error {
	x, err := w.Read()
	if err == nil {
		err = w.checkWindows(x.Files)
	}
	if err != nil {
		return err
	}
	host, files := x.Host, x.Files
	w.printWindows(c, host, true, "left in mcp-jail (--windows takes them out)")
	changes := changesOf(files, func(f *wrapping.File) *wrapping.Change {
		return f.Unwrap(w.Selection, func(line clients.Wrapped) ([]string, error) { return formerCommand(host, f, line) })
	})
	// With --server, the table says why a server is left.
	if !slices.ContainsFunc(changes, isWrapped) && len(w.Servers) == 0 {
		c.Printf("no server is wrapped: nothing to do\n")
		for _, f := range files {
			if f.Err != nil {
				c.Printf("%s\n  %s %s\n", fileTitle(c, f, host.Home), c.Paint(terminal.Yellow, "left:"), show.Line(f.Err.Error()))
			}
		}
		return unread(files, host.Home)
	}
	printWrap(c, files, changes, host.Home)
	written, err := w.write(c, host, changes, "unwrap", func() error { return nil })
	printDiffering(c, host, written)
	index.PrintReload(c, written)
	printOwnFiles(c, x, written)
	return errors.Join(err, forgetWrites(x, written), unread(files, host.Home))
}

// forgetWrites removes the notes about where the unwrapped servers may write: no jail holds them to
// that any more.
func forgetWrites(x *index.Index, written []*wrapping.Change) (err error) {
	for _, ch := range written {
		for _, s := range ch.Changed() {
			if key := x.Of(ch.File, s.Entry).Key; key != "" {
				err = errors.Join(err, records.ForgetWrites(x.Host, key))
			}
		}
	}
	return err
}

// printDiffering names the copies of files from before the first wrap, for files that are
// unwrapped and still differ from their copy.
func printDiffering(c terminal.Console, host hostfs.Host, written []*wrapping.Change) {
	for _, ch := range written {
		r, _ := ch.File.Backup(host.StateDir)
		if original := ch.File.Original(host.StateDir, r); ch.Differs(host.StateDir, original) {
			c.PrintText(fmt.Sprintf("  no server in it is wrapped now, and it differs from the file as it was before the first wrap: %s\n", show.Line(cli.ShortPath(original, host.Home))))
		}
	}
}

// unread returns an error that names the selected files that could not be read. Their servers
// start as before, and a script must learn that.
func unread(files []*wrapping.File, home string) error {
	var names []string
	for _, f := range files {
		if f.Err != nil {
			names = append(names, cli.ShortPath(f.Path, home))
		}
	}
	if names == nil {
		return nil
	}
	return fmt.Errorf("%s could not be read, and the servers in it are as they were: %s", cli.Plural(len(names), "file"), strings.Join(names, ", "))
}

func isWrapped(ch *wrapping.Change) bool {
	return slices.ContainsFunc(ch.Servers, func(s wrapping.ServerChange) bool { return s.Left != string(wrapping.NotWrapped) })
}

// printOwnFiles names the private HOMEs of unwrapped servers: a server without a jail does not
// find the files there.
func printOwnFiles(c terminal.Console, x *index.Index, written []*wrapping.Change) {
	all, err := stored.Look(x.Host)
	if err != nil {
		return // list says why
	}
	said := map[string]bool{}
	for _, ch := range written {
		for _, s := range ch.Changed() {
			kept := all.Server(x.Of(ch.File, s.Entry).Key)
			if kept == nil || said[kept.Name] {
				continue
			}
			for _, home := range kept.Homes {
				said[kept.Name] = true
				c.Printf("%s without the jail, %s no longer sees the %s that it wrote there: %s\n", c.Paint(terminal.Yellow, "note:"), show.Line(s.Server), cli.Plural(home.Files, "file"), cli.ShortPath(home.Path, x.Host.Home))
			}
		}
	}
}
