package wrapcmd

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/presets"
)

// printNotes prints what the answer does not need: of each server its line, all that it may reach, its policy file, and
// what the user can do about it.
func (w *wrapCmd) printNotes(c terminal.Console, host hostfs.Host, changes []*wrapping.Change, more []string) {
	note := func(indent, text string) {
		text = show.Line(terminal.ShortHome(text, host.Home))
		c.Printf("%s\n", terminal.Hang(indent, strings.Repeat(" ", len(indent)+2), text, c.TextColumns()))
	}
	said := map[string]bool{}
	for _, ch := range changes {
		title := ch.File.Client.Title
		for _, also := range ch.File.Also {
			title += ", " + also.Title
		}
		note("", c.Paint(terminal.Bold, title)+"  "+show.Name(cli.ShortPath(ch.File.Path, host.Home)))
		if real := ch.File.Real(); real != "" && real != ch.File.Path {
			note("  ", "it is a link to "+real)
		}
		isOwn := func(s wrapping.ServerChange) bool { return s.Own != nil }
		if slices.ContainsFunc(ch.Changed(), isOwn) && ch.File.InGit() {
			note("  ", "it is in a git work tree: a copy of it has the ids of your servers")
		}
		for _, s := range ch.Servers {
			note("  ", c.Paint(terminal.Bold, index.ServerTitle(s.Entry))+": "+lineOf(s))
			for _, text := range slices.Concat(serverNotes(s, host.Home), presetNotes(s, said)) {
				note("    - ", text)
			}
		}
	}
	for _, f := range wrapping.Unread(index.ClientsHost(host), w.Selection) {
		if f.Starts {
			more = append(more, f.Path+" of "+f.Client.Title+" is not read: "+f.Why)
		}
	}
	for _, text := range more {
		note("", text)
	}
	c.Printf("\n")
}

// lineOf returns the command line of a server, without mcp-jail.
func lineOf(s wrapping.ServerChange) string {
	line := s.Argv()
	if w, is := clients.ParseWrapped(line); is && w.Argv != nil {
		line = w.Argv
	}
	return shown.Line(line)
}

func serverNotes(s wrapping.ServerChange, home string) (texts []string) {
	if s.Left != "" {
		texts = append(texts, "it stays as it is: it "+s.Left)
	} else {
		texts = append(texts, "may reach: "+reach(s, home))
	}
	if s.Own != nil && s.Left == "" {
		file := "policy file: " + cli.ShortPath(s.Own.Path, home)
		if s.Preset != "" {
			file += ", from the preset " + s.Preset
		}
		texts = append(texts, file)
	}
	texts = append(texts, s.Notes...)
	if s.Newer != nil {
		texts = append(texts, "its preset gives more now: "+strings.Join(s.Newer, ", ")+". To take that:  "+show.Typed("mcp-jail grant", s.Own.Server.Name, "--preset", s.Own.Server.Preset))
	}
	return texts
}

// presetNotes returns the first sentence of each note of a server's preset, once for all servers that have it.
func presetNotes(s wrapping.ServerChange, said map[string]bool) (texts []string) {
	p, err := presets.Find(s.Preset)
	if err != nil || s.Left != "" || said[p.Name] {
		return nil
	}
	said[p.Name] = true
	for _, text := range p.Notes {
		first, _, _ := strings.Cut(text, ". ")
		texts = append(texts, strings.TrimSuffix(first, ".")+".")
	}
	return texts
}
