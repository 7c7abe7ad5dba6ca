package commands

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/kept"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

type listCmd struct{ format string }

func (x *front) list() *cobra.Command {
	l := &listCmd{}
	cmd := x.command("list [flags]", "List the servers that were run or installed, and what is kept of them.", 0, false, func([]string) error { return l.Run(x.console) })
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
	addFlags(cmd, formatFlag(&l.format))
	return cmd
}

// Run prints what is kept.
func (l *listCmd) Run(c terminal.Console) error {
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	all, err := kept.Look(host)
	if err != nil {
		return err
	}
	if l.format == "json" {
		b, _ := json.MarshalIndent(listOf(all), "", "  ")
		c.Printf("%s\n", show.JSON(b))
		return nil
	}
	if all.ConfigErr != nil {
		c.Notef("%s the configuration cannot be read, so servers that only it names may be missing: mcp-jail check  says why", c.Paint(terminal.Yellow, "warning:"))
	}
	if all.Untrusted != nil {
		c.Notef("%s %s is ignored, because it is not trusted: servers that only it names are missing", c.Paint(terminal.Yellow, "warning:"), show.Name(all.Untrusted.File))
	}
	if len(all.Servers) == 0 {
		c.Printf("no server was run or installed yet\n")
	} else {
		c.Printf("%s", serverTable(all, time.Now(), c.TextColumns()))
	}
	if text := projectText(host, all); text != "" {
		c.Printf("\n")
		c.PrintText(text)
	}
	if text := neverStartedText(host, all); text != "" {
		c.Printf("\n")
		c.PrintText(text + "\n")
	}
	if text := unneededText(all); text != "" {
		c.Printf("\n%s\n", text)
	}
	return nil
}

// projectText says which servers are a project's own, and what their names mean in the working
// directory, or returns "".
func projectText(host hostfs.Host, all *kept.All) string {
	var b strings.Builder
	for _, s := range all.Servers {
		if s.About.Project == "" {
			continue
		}
		b.WriteString(show.Name(all.ShortName(s)) + " is a server of the project of " + show.Line(s.About.Project) + "\n")
		name := ownNamesake(all, s)
		if own, _ := kept.Here(host, workDir(host), name); name != "" && own == s.Name {
			b.WriteString("  in this directory, " + show.Typed("mcp-jail why", name) + "  means that one, and  " + elsewhere("why", name) + "  yours\n")
		}
	}
	return b.String()
}

// neverStartedText names the servers whose program does not exist, or returns "".
func neverStartedText(host hostfs.Host, all *kept.All) string {
	var shown, here, removes []string
	for _, s := range all.Servers {
		if !s.NeverStarted() {
			continue
		}
		name := all.ShortName(s)
		shown = append(shown, show.Name(name))
		if meant, project := kept.Here(host, workDir(host), name); project == "" || meant == s.Name {
			here = append(here, name)
		} else { // in this directory, the name means a project's server
			removes = append(removes, elsewhere("rm", name))
		}
	}
	if shown == nil {
		return ""
	}
	if here != nil {
		removes = append([]string{show.Typed("mcp-jail rm", here...)}, removes...)
	}
	return "never started, because the program was not found: " + strings.Join(shown, ", ") + "; " + strings.Join(removes, "  and  ") + "  removes what is kept"
}

// unneededText tells how many packages and leftovers no server needs, or returns "".
func unneededText(all *kept.All) string {
	var parts []string
	var bytes int64
	if n := len(all.Unpinned); n > 0 {
		for _, t := range all.Unpinned {
			bytes += t.Bytes
		}
		parts = append(parts, plural(n, "package")+" without a pin")
	}
	left := 0
	for _, l := range all.Leftovers {
		if !l.Busy && l.Bytes > 0 {
			left++
			bytes += l.Bytes
		}
	}
	if left > 0 {
		parts = append(parts, plural(left, "leftover")+" of interrupted work")
	}
	if parts == nil {
		return ""
	}
	return "also kept: " + strings.Join(parts, ", ") + ", " + sizeText(bytes) + "; mcp-jail rm --unused 30d  removes what is old"
}

// Least widths of the columns of names, which shrink until the table fits.
const (
	runsWidth  = 16
	nameWidth  = 20
	otherWidth = 12
)

// serverTable returns the table of servers.
func serverTable(all *kept.All, now time.Time, width int) string {
	rows := [][]string{{"NAME", "RUNS", "PINNED", "CLIENT", "USED", "FAILED", "SIZE"}}
	for _, s := range all.Servers {
		used, failed := agoText(now, s.Used), "-"
		if s.Running {
			used = "running"
		}
		if f := s.Failed(); f != nil {
			failed = agoText(now, f.Time)
		}
		client := strings.TrimSpace(s.About.Client.Name + " " + s.About.Client.Version)
		row := []string{show.Name(all.ShortName(s)), runsText(s), pinnedText(s), orDash(client), used, failed, sizeText(s.Bytes())}
		for i := range row {
			row[i] = show.Line(row[i])
		}
		rows = append(rows, row)
	}
	return columns(rows, width, map[int]int{1: runsWidth, 3: otherWidth, 2: otherWidth, 0: nameWidth}, []int{1, 3, 2, 0})
}

// columns aligns rows. If a line is too long, columns shrink in the given order, each at most to
// its least width. If that is not enough, times lose their "ago", and then the least widths are
// halved.
func columns(rows [][]string, width int, least map[int]int, order []int) string {
	widths := widthsOf(rows)
	shrink := func(i, to int) {
		total := -2
		for _, w := range widths {
			total += w + 2
		}
		if less := min(total-width, widths[i]-to); less > 0 {
			widths[i] -= less
		}
	}
	for _, i := range order {
		shrink(i, least[i])
	}
	for i := range widths {
		if least[i] == 0 {
			shrink(i, shortTime(rows, i))
		}
	}
	for _, i := range order {
		shrink(i, least[i]/2)
	}
	var b strings.Builder
	for _, r := range rows {
		line := ""
		for i, cell := range r {
			cell = shorten(cell, widths[i])
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == len(r)-1 { // sizes
				cell, pad = pad+cell, ""
			}
			line += cell + pad + "  "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// widthsOf returns the width of each column.
func widthsOf(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// shortTime returns the width of a column whose times have lost their "ago".
func shortTime(rows [][]string, column int) (width int) {
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(strings.TrimSuffix(r[column], " ago")))
	}
	return width
}

// shorten makes a text fit into a column. It takes away the "ago" of a time, then the scope of a
// package, and then the end of the text.
func shorten(text string, width int) string {
	if utf8.RuneCountInString(text) > width {
		text = strings.TrimSuffix(text, " ago")
	}
	if utf8.RuneCountInString(text) > width && strings.HasPrefix(text, "@") {
		_, text, _ = strings.Cut(text, "/")
	}
	if runes := []rune(text); len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return text
}

// runsText returns the package that a server runs, or else its command.
func runsText(s *kept.Server) string {
	name := ""
	switch {
	case len(s.Pins) > 0:
		name = s.Pins[0].Name
	case s.About.Package != nil:
		name = s.About.Package.Name
	case s.Asked != "":
		name = s.Asked
	case len(s.About.Command) > 0:
		return show.Spelled(s.About.Command)
	}
	return orDash(name)
}

// pinnedText returns the pinned version of a server, "no" for a package without a pin, or "-".
func pinnedText(s *kept.Server) string {
	switch {
	case len(s.Pins) > 0:
		return s.Pins[0].Version
	case s.About.Package != nil, s.Asked != "":
		return "no"
	}
	return "-"
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
