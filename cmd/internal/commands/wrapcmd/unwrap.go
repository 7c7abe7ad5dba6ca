package wrapcmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

func Unwrap(line *cli.CommandLine) *cobra.Command {
	u := &changeCmd{}
	cmd := line.Command("unwrap [options]", 0, false, func([]string) error {
		return u.unwrap(line.Console)
	})
	cmd.Long = `unwrap takes the words of mcp-jail out of the files of your MCP clients. The rest of each
file stays as it is.

The policies of the servers and their data are kept, and wrap finds them again.
` + "`mcp-jail status --remove NAME`" + ` removes them.`
	cmd.Example = `    mcp-jail unwrap
    mcp-jail unwrap --client cursor --server github`
	u.addTo(cmd)
	return cmd
}

func (w *changeCmd) unwrap(c terminal.Console) error {
	x, err := w.Read()
	if err = cmp.Or(err, w.checkWindows()); err != nil {
		return err
	}
	host, files := x.Host, x.Files
	changes := changesOf(files, func(f *wrapping.File) *wrapping.Change {
		return f.Unwrap(w.Selection)
	})
	broken := printBroken(c, files, host.Home, "unwrap")
	s := &screen{c: c, home: host.Home, changes: changes}
	s.reach = func(of wrapping.ServerChange) string { return terminal.ShownLine(of.After) }
	s.outro = slices.Concat(notUnwrapped(changes), ownFiles(x, changes))
	if s.isEmpty() {
		c.Printf("Nothing to do: no server is in the jail.\n")
		s.printLines(s.paragraphs(s.outro))
		return broken
	}
	who, kept := "These "+cli.Plural(countChanged(changes), "server"), "Their policies and their data are kept."
	if countChanged(changes) == 1 {
		who, kept = "This server", "Its policy and its data are kept."
	}
	s.intro, s.outro = []string{who + " will start without a jail again, with all of your rights:"}, append(s.outro, kept)
	if s.print(); w.dryRun {
		s.printAll()
		return broken
	}
	if !w.yes {
		if err := s.ask(question("Unwrap", changes, false)); err != nil {
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
				if outside, inside := memoryFiles(x.Host.Home, x.Host.StateDir, kept.Name, s); outside != "" {
					texts = append(texts, "To give it the memories that are there:", "  cp -i "+show.Spelled([]string{inside, outside}))
				}
			}
		}
	}
	return texts
}

// checkWindows returns an error if the files of clients on Windows are asked for where there are none.
func (w *changeCmd) checkWindows() error {
	if w.OfWindows && len(w.Windows) == 0 {
		return terminal.UsageErrorf("--windows is for WSL: this is another system, or its drive C has no home folders to read")
	}
	return nil
}
