package wrapcmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func Unwrap(line *cli.CommandLine) *cobra.Command {
	u := &changeCmd{}
	cmd := line.Command("unwrap [options]", "Take servers out of the jail again", 0, false, func([]string) error {
		return u.unwrap(line.Console)
	})
	cmd.Long = `unwrap takes the words of mcp-jail out of the files of your MCP clients. The rest of each
file stays as it is, whatever has changed it since.

The policies of the servers and their data are kept, and wrap finds them again.
` + "`mcp-jail status --remove NAME`" + ` removes them.`
	cmd.Example = `    mcp-jail unwrap
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
	changes := changesOf(files, func(f *wrapping.File) *wrapping.Change {
		return f.Unwrap(w.Selection)
	})
	broken := printBroken(c, files, host.Home, "unwrap")
	s := &screen{c: c, home: host.Home, changes: changes}
	s.reach = func(of wrapping.ServerChange) string { return terminal.ShownLine(of.After) }
	s.outro = slices.Concat(notUnwrapped(changes), ownFiles(x, changes), w.leftOnWindows(host, true))
	if s.isEmpty() {
		c.Printf("Nothing to do: no server is in the jail.\n")
		s.printLines(s.paragraphs(s.outro))
		return broken
	}
	s.intro = []string{fmt.Sprintf("These %s will start without a jail again, with all of your rights:", cli.Plural(countChanged(changes), "server"))}
	if countChanged(changes) == 1 {
		s.intro[0] = "This server will start without a jail again, with all of your rights:"
	}
	s.outro = append(s.outro, "Their policies and their data are kept.")
	if s.print(); w.dryRun {
		s.printAll()
		return broken
	}
	if !w.yes {
		if err := s.ask(question("unwrap", changes, false)); err != nil {
			return err
		}
	}
	written, err := index.Write(c, host, "unwrap", changes)
	if len(written) > 0 {
		s.printWritten("Unwrapped", host.StateDir, written)
	}
	return errors.Join(err, forgetWrites(x, written), broken)
}

// notUnwrapped says why servers in the jail stay there.
func notUnwrapped(changes []*wrapping.Change) (texts []string) {
	for _, ch := range changes {
		for _, s := range ch.Servers {
			if s.Left != "" && s.Left != string(wrapping.NotWrapped) {
				texts = append(texts, index.ServerTitle(s.Entry)+" stays as it is: it "+show.Line(s.Left)+".")
			}
		}
	}
	return texts
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

// printBroken names the selected files that could not be read, and returns an error if there are any. Their servers start
// as before, and a script must learn that.
func printBroken(c terminal.Console, files []*wrapping.File, home, command string) (err error) {
	for _, f := range files {
		if f.Err == nil {
			continue
		}
		path := cli.ShortPath(f.Path, home)
		why := strings.TrimPrefix(terminal.ShortHome(f.Err.Error(), home), path+": ")
		c.Errorf("%s was skipped: %s\nCorrect it, then run:\n  mcp-jail %s", path, show.Line(why), command)
		err = terminal.ReportedStatus(terminal.Failure)
	}
	return err
}

// ownFiles says where the files are that servers wrote in their own HOMEs: without a jail they do not find them.
func ownFiles(x *index.Index, changes []*wrapping.Change) (texts []string) {
	all, err := index.LookStored(x.Host)
	if err != nil {
		return nil // status says why
	}
	said := map[string]bool{}
	for _, ch := range changes {
		for _, s := range ch.Changed() {
			kept := all.Server(x.Of(ch.File, s.Entry).Key)
			if kept == nil || said[kept.Name] {
				continue
			}
			for _, home := range kept.Homes {
				said[kept.Name] = true
				texts = append(texts, fmt.Sprintf("%s will not find the %s that it wrote in its own HOME:", show.Line(s.Server), cli.Plural(home.Files, "file")), "  "+cli.ShortPath(home.Path, x.Host.Home))
			}
		}
	}
	return texts
}

// find returns the selected files.
func (w *changeCmd) find() (hostfs.Host, []*wrapping.File, error) {
	host, files, err := w.Find()
	if err == nil {
		err = w.checkWindows(files)
	}
	return host, files, err
}

// checkWindows returns an error if the files of clients on Windows are asked for where there are none, or
// named without being asked for.
func (w *changeCmd) checkWindows(files []*wrapping.File) error {
	at := slices.IndexFunc(files, wrapping.OnWindows)
	switch {
	case w.OfWindows && len(w.Windows) == 0:
		return terminal.UsageErrorf("--windows is for WSL: this is another system, or its drive C has no home directories that can be read")
	case !w.OfWindows && at >= 0:
		return terminal.UsageErrorf("%s is a file of a client on Windows: give --windows, and its servers start in this Linux by wsl.exe", files[at].Path)
	}
	return nil
}

// leftOnWindows names the servers of clients on Windows that the command leaves, since it was not asked for them: those
// that are in a jail, or those that are not.
func (w *changeCmd) leftOnWindows(host hostfs.Host, jailed bool) []string {
	if w.OfWindows || len(w.Windows) == 0 || len(w.Files) > 0 {
		return nil
	}
	sel := w.Selection
	sel.OfWindows, sel.Servers = true, nil
	files, err := wrapping.Find(index.ClientsHost(host), sel)
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range files {
		for _, e := range f.Entries {
			_, is := clients.ParseWrapped(e.Argv())
			if wrapping.OnWindows(f) && w.Has(e.Server) && is == jailed && cmp.Or(e.Command, e.URL) != "" && e.Left != clients.Disabled && e.Left != clients.Remote {
				names = append(names, show.Name(e.Server))
			}
		}
	}
	if names == nil {
		return nil
	}
	command, which := "  mcp-jail wrap --windows", " of clients on Windows stay without a jail. To put them into one, in this Linux:"
	if jailed {
		command, which = "  mcp-jail unwrap --windows", " of clients on Windows stay in the jail. To take them out:"
	}
	return []string{listed(unique(names)) + which, command}
}
