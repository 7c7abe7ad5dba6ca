package wrapcmd

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/presets"
)

func printWrap(c terminal.Console, files []*wrapping.File, changes []*wrapping.Change, home string) {
	if len(files) == 0 {
		c.PrintText(fmt.Sprintf("no client with servers was found: looked for the files of all %d clients, or of those selected, and in the working directory. A file elsewhere: --file FILE\n", len(clients.All())))
		return
	}
	for i, f := range files {
		if i > 0 {
			c.Printf("\n")
		}
		c.PrintText(fileTitle(c, f, home) + "\n")
		if f.Err != nil {
			c.PrintText(fmt.Sprintf("  %s %s\n", c.Paint(terminal.Yellow, "left:"), show.Line(f.Err.Error())))
			continue
		}
		at := slices.IndexFunc(changes, func(ch *wrapping.Change) bool { return ch.File == f })
		if ids := slices.ContainsFunc(changes[at].Changed(), func(s wrapping.ServerChange) bool { return s.Own != nil }); ids && f.InGit() {
			c.PrintText(fmt.Sprintf("  %s it lies in a git work tree: who has a copy of it has the ids of its servers\n", c.Paint(terminal.Yellow, "note:")))
		}
		printPlanned(c, changes[at], home)
	}
	printOpen(c, changes)
	printPresets(c, changes)
	printWithheld(c, changes)
	if slices.ContainsFunc(changes, func(ch *wrapping.Change) bool {
		return slices.ContainsFunc(ch.Changed(), func(s wrapping.ServerChange) bool { return s.Loses != nil && s.Preset == "" && !isCoarse(s) })
	}) {
		c.Printf("\n")
		c.PrintText("Servers without a preset get what their entries show: directories to read, variables, no network. If one needs more, its first failure names the grant.\n")
	}
}

// printWithheld says once how the servers of others' files get more than the default policy.
func printWithheld(c terminal.Console, changes []*wrapping.Change) {
	for _, ch := range changes {
		for _, s := range ch.Changed() {
			if s.Withholds {
				c.PrintText("\nServers in files of projects and plugins get the default policy: others may have written their entries. For more, type `mcp-jail grant NAME`, or write a table into a .mcp-jail.toml, which you then trust.\n")
				return
			}
		}
	}
}

// printPresets prints what the presets that are used now have to say, each once: the first sentence of
// each note.
func printPresets(c terminal.Console, changes []*wrapping.Change) {
	var said []string
	for _, ch := range changes {
		for _, s := range ch.Changed() {
			p, err := presets.Find(s.Preset)
			if err != nil || len(p.Notes) == 0 || slices.Contains(said, p.Name) {
				continue
			}
			if said == nil {
				c.PrintText("\nWhat to know about these presets; `mcp-jail preset NAME` says more:\n")
			}
			said = append(said, p.Name)
			c.Printf("  %s\n", c.Paint(terminal.Bold, p.Name))
			for _, note := range p.Notes {
				first, _, _ := strings.Cut(note, ". ")
				c.PrintText("    " + strings.TrimSuffix(first, ".") + ".\n")
			}
		}
	}
}

func printOpen(c terminal.Console, changes []*wrapping.Change) {
	open := 0
	for _, ch := range changes {
		for _, s := range ch.Servers {
			if s.Open {
				open++
			}
		}
	}
	if open > 0 {
		c.Printf("\n%s\n", staysOpen(open))
	}
}

func staysOpen(servers int) string {
	return cli.Plural(servers, "server") + " left as above may start without a jail"
}

func fileTitle(c terminal.Console, f *wrapping.File, home string) string {
	title := f.Client.Title
	for _, also := range f.Also {
		title += ", " + also.Title
	}
	title = c.Paint(terminal.Bold, title) + "  " + show.Name(cli.ShortPath(f.Path, home))
	if real := f.Real(); real != "" && real != f.Path {
		title += "\n  it is a link to " + show.Name(cli.ShortPath(real, home))
	}
	if wrapping.OnWindows(f) {
		title += "\n  a client on Windows, outside of this Linux"
	}
	if p := f.Plugin(); p != nil {
		title += "\n  a file of " + show.Line(p.Title()) + ": its next update brings its own again"
	} else if f.IsProject() {
		title += "\n  a file of this project: others who use it need mcp-jail too"
	}
	return title
}

func printPlanned(c terminal.Console, ch *wrapping.Change, home string) {
	width := 0
	for _, s := range ch.Servers {
		width = max(width, len([]rune(index.ServerTitle(s.Entry))))
	}
	width = min(width, 24)
	indent := strings.Repeat(" ", width+4)
	for _, s := range ch.Servers {
		if s.Left == string(wrapping.NotWrapped) {
			continue
		}
		title := fmt.Sprintf("  %-*s  ", width, index.ServerTitle(s.Entry))
		if s.Left != "" {
			c.PrintText(fmt.Sprintf("%s%s it %s\n", title, c.Paint(terminal.Yellow, "left:"), show.Line(s.Left)))
			printNewer(c, indent, s)
			continue
		}
		line := s.Argv()
		if w, is := clients.ParseWrapped(line); is && w.Argv != nil {
			if _, stays := clients.ParseWrapped(s.After); stays {
				line = w.Argv
			}
		}
		started := show.Line(shown.Line(line))
		if c.TableColumns() > 0 {
			started = strings.TrimPrefix(terminal.Hang(title, indent, started, c.TextColumns()), title)
		}
		c.Printf("%s%s\n", title, started)
		if s.Repair != nil {
			printRepair(c, indent, s, home)
		}
		if s.Loses == nil { // it is unwrapped, repaired, or changes what it accepts
			printFile(c, indent, s, home)
			printWaived(c, indent, s)
			printList(c, indent, terminal.Yellow, "note", s.Notes, "")
			continue
		}
		if s.For != "" {
			printList(c, indent, "", "in", []string{s.For}, "")
		}
		if s.Preset != "" {
			c.Printf("%spreset     %s\n", indent, s.Preset)
		}
		printReach(c, indent, s)
		printFile(c, indent, s, home)
		printNewer(c, indent, s)
		printWaived(c, indent, s)
		printList(c, indent, terminal.Yellow, "note", s.Notes, "")
	}
}

// printNewer prints what the preset of a server gives now and its file has not. wrap does not take it.
func printNewer(c terminal.Console, indent string, s wrapping.ServerChange) {
	if s.Newer != nil {
		printList(c, indent, "", "newer", append(slices.Clone(s.Newer), "preset "+s.Own.Server.Preset+" gives that now, and the file has it not. To take it:  "+show.Typed("mcp-jail grant", s.Own.Server.Name, "--preset", s.Own.Server.Preset)), "")
	}
}

// isCoarse reports whether a server gets a jail of Windows, which restricts no files and no hosts.
func isCoarse(s wrapping.ServerChange) bool {
	return runtime.GOOS == "windows" || s.Own != nil && slices.Contains(s.Own.Server.Waive, policy.WaiveWindows)
}

// printReach prints what a server may reach, and what it loses.
func printReach(c terminal.Console, indent string, s wrapping.ServerChange) {
	if !isCoarse(s) {
		printList(c, indent, "", "may reach", s.Gets, "nothing beyond its own files and its package")
		printList(c, indent, "", "loses", []string{strings.Join(s.Loses, ", ")}, "")
		return
	}
	printList(c, indent, "", "may reach", []string{"every file of yours to read, and every host: no jail on Windows holds more"}, "")
	printList(c, indent, "", "rules", s.Gets, "")
	printList(c, indent, "", "loses", s.Loses[len(s.Loses)-1:], "") // variables
}

// printFile names the file that has the policy of a server.
func printFile(c terminal.Console, indent string, s wrapping.ServerChange, home string) {
	switch {
	case s.Own == nil:
	case s.Writes:
		printList(c, indent, "", "policy", []string{cli.ShortPath(s.Own.Path, home)}, "")
	default:
		printList(c, indent, "", "policy", []string{cli.ShortPath(s.Own.Path, home) + ", as it is"}, "")
	}
}

// printRepair prints what wrap puts in order in an entry that is wrapped already.
func printRepair(c terminal.Console, indent string, s wrapping.ServerChange, home string) {
	printList(c, indent, terminal.Yellow, "repair", []string{"it " + terminal.ShortHome(string(s.Repair.Why), home)}, "")
	printList(c, indent, "", "now", []string{cli.ShortPath(s.After[0], home)}, "")
}

// printList prints a label in a colour before the first of some lines. If there is no line, it prints the
// text none.
func printList(c terminal.Console, indent, code, label string, lines []string, none string) {
	if len(lines) == 0 && none != "" {
		lines = []string{none}
	}
	room := c.TextColumns() - len(indent) - 11
	folded := strings.Split(terminal.Fold(show.Lines(strings.Join(lines, "\n")), room), "\n")
	if len(lines) == 0 {
		folded = nil
	}
	for i, l := range folded {
		text := label
		if i > 0 {
			text = ""
		}
		c.Printf("%s%s%s  %s\n", indent, c.Paint(code, text), strings.Repeat(" ", max(0, 9-len(text))), l)
	}
}
