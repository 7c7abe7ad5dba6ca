package pkgcmd

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/gaps"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

type listCmd struct{ format string }

func List(line *cli.CommandLine) *cobra.Command {
	l := &listCmd{}
	cmd := line.Command("list [flags]", "List the servers that were run or installed, and what is kept of them.", 0, false, func([]string) error { return l.Run(line.Console) })
	cmd.Long = `PINNED is the version of the package that mcp-jail.lock pins. FAILED is when the
last session began, if something failed in it. SIZE is that of the package, of
the server's private HOME and of its records. The latest used comes first.

With --format json, the output is an object with these members:

    servers     a list, as in the table. Of each server:
      name             its whole name
      project          the project's file, if the server is the project's own
      command          the command as given; missing if no session is on record
      client           name and version of the last client, as it calls itself
      package          ecosystem, name, version, spec (as in mcp-jail.lock) and
                       whether it is pinned; missing if none was installed
      waived           axes of which its last session accepted gaps (--waive)
      running          whether a session uses it now
      last_used        when a session last began or ended, or when it was installed
      last_failure     time and what of the last known failure, and whether it
                       is past: a later session had none; missing if none
      bytes            of all of it: home_bytes, package_bytes, record_bytes
      homes            the private HOMEs with files: path, files, bytes
    unpinned    packages that no pin names: ecosystem, name, version, bytes, path
    leftovers   of interrupted work: path, bytes, last_used, busy
    bytes       of everything, each file once

Times are as in RFC 3339. New members may be added.`
	cmd.Example = `    mcp-jail list
    mcp-jail list --format json`
	cli.AddFlags(cmd, cli.FormatFlag(&l.format))
	return cmd
}

// Run prints what is kept.
func (l *listCmd) Run(c terminal.Console) error {
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	all, err := stored.Look(host)
	if err != nil {
		return err
	}
	if l.format == "json" {
		cli.PrintJSON(c, listOf(all))
		return nil
	}
	x, err := index.Read()
	if err != nil {
		return err
	}
	if all.ConfigErr != nil {
		c.Notef("%s the configuration has an error, so servers that only it names may be missing: %s", c.Paint(terminal.Yellow, "warning:"), exit.OneLine(all.ConfigErr))
	}
	if all.Untrusted != nil {
		c.Notef("%s %s is ignored, because it is not trusted: servers that only it names are missing", c.Paint(terminal.Yellow, "warning:"), show.Name(all.Untrusted.File))
	}
	if len(all.Servers) == 0 {
		c.PrintText("nothing is kept: no server was run or installed, or all of it was removed\n")
	} else {
		c.Printf("%s", serverTable(x, all, time.Now(), c.TableColumns()))
	}
	if text := placesText(x, all); text != "" {
		c.Printf("\n")
		c.PrintText(text)
	}
	if text := waivedText(x, all); text != "" {
		c.Printf("\n")
		c.PrintText(text)
	}
	if text := neverStartedText(x, all); text != "" {
		c.Printf("\n")
		c.PrintText(text + "\n")
	}
	if text := unneededText(all); text != "" {
		c.Printf("\n")
		c.PrintText(text + "\n")
	}
	return nil
}

// placesText says to which project a server belongs.
func placesText(x *index.Index, all *stored.All) string {
	var b strings.Builder
	for _, s := range all.Servers {
		if s.About.Project != "" {
			b.WriteString(show.Name(x.NameOf(s.Name)) + " is a server of the project of " + show.Line(s.About.Project) + "\n")
		}
	}
	return b.String()
}

// waivedText names the servers whose last session accepted gaps, or returns "".
func waivedText(x *index.Index, all *stored.All) string {
	var order []string
	names := map[string][]string{} // of each text
	add := func(s *stored.Server, text string) {
		if names[text] == nil {
			order = append(order, text)
		}
		names[text] = append(names[text], show.Name(x.NameOf(s.Name)))
	}
	for _, s := range all.Servers {
		var words []policy.Axis
		for _, w := range s.About.Waived {
			words = append(words, policy.Axis(w))
		}
		axes, systems := gaps.OfSystems(words)
		if len(axes) > 0 {
			add(s, ": gaps are accepted (--waive) on "+show.Line(gaps.Names(axes, ", ")))
		}
		if len(systems) > 0 {
			add(s, ": accepted (--waive) is "+gaps.Phrase(systems))
		}
	}
	var b strings.Builder
	for _, text := range order {
		b.WriteString(strings.Join(names[text], ", ") + text + "\n")
	}
	return b.String()
}

// neverStartedText names the servers whose program does not exist, or returns "".
func neverStartedText(x *index.Index, all *stored.All) string {
	var shown, names []string
	for _, s := range all.Servers {
		if s.NeverStarted() {
			names = append(names, x.NameOf(s.Name))
			shown = append(shown, show.Name(x.NameOf(s.Name)))
		}
	}
	if shown == nil {
		return ""
	}
	return "the program was not found at the last start: " + strings.Join(shown, ", ") + "; if it was mistyped, `" + show.Typed("mcp-jail rm", names...) + "` removes what is kept"
}

func unneededText(all *stored.All) string {
	var parts []string
	var bytes int64
	if n := len(all.Unpinned); n > 0 {
		for _, t := range all.Unpinned {
			bytes += t.Bytes
		}
		parts = append(parts, cli.Plural(n, "package")+" without a pin")
	}
	left := 0
	for _, l := range all.Leftovers {
		if !l.Busy && l.Bytes > 0 {
			left++
			bytes += l.Bytes
		}
	}
	if left > 0 {
		parts = append(parts, cli.Plural(left, "leftover")+" of interrupted work")
	}
	if parts == nil {
		return ""
	}
	return "also kept: " + strings.Join(parts, ", ") + ", " + cli.SizeText(bytes) + "; `mcp-jail rm --unused 30d` removes what is old"
}

func serverTable(x *index.Index, all *stored.All, now time.Time, width int) string {
	rows := [][]cli.Cell{cli.Heading("NAME", "RUNS", "PINNED", "CLIENT", "USED", "FAILED", "SIZE")}
	for _, s := range all.Servers {
		used, failed := cli.Whole(cli.AgoText(now, s.Used)), cli.Words("")
		if s.Running {
			used = cli.Words("running")
		}
		if f := s.Failed(); f != nil {
			failed = cli.Whole(cli.AgoText(now, f.Time))
		}
		client := strings.TrimSpace(s.About.Client.Name + " " + s.About.Client.Version)
		rows = append(rows, []cli.Cell{cli.Words(show.Name(x.NameOf(s.Name))), cli.Words(runsText(s)), cli.Words(s.Pinned()), cli.Words(client), used, failed, cli.Whole(cli.SizeText(s.Bytes()))})
	}
	return cli.Columns(rows, width, map[int]int{1: cli.RunsWidth, 3: cli.OtherWidth, 2: cli.OtherWidth, 0: cli.NameWidth}, []int{1, 3, 2, 0})
}

func runsText(s *stored.Server) string {
	name := ""
	switch {
	case len(s.Pins) > 0:
		name = s.Pins[0].Name
	case s.About.Package != nil:
		name = s.About.Package.Name
	case s.Asked != "":
		name = s.Asked
	case len(s.About.Command) > 0:
		return shown.Line(s.About.Command)
	}
	return name
}
