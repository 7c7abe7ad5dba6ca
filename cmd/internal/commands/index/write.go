package index

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Write writes the files of changes, and says so. It returns the changes that were written. If one
// file cannot be written, it goes on with the others.
func Write(c terminal.Console, host hostfs.Host, changes []*wrapping.Change) (written []*wrapping.Change, err error) {
	written = []*wrapping.Change{}
	var failed []error
	for _, ch := range changes {
		if !ch.Rewrites() {
			written = append(written, ch)
			continue
		}
		backup, err := ch.Write(host.StateDir, time.Now())
		var notRecorded *wrapping.BackupError
		switch {
		case errors.As(err, &notRecorded):
			c.Notef("%s %s", c.Paint(terminal.Yellow, "warning:"), notRecorded)
		case errors.Is(err, ownfile.ErrChanged):
			failed = append(failed, &changedError{ch.File.Path})
			continue
		case err != nil:
			failed = append(failed, err)
			continue
		}
		written = append(written, ch)
		c.PrintText(fmt.Sprintf("%s %s  (%s; before: %s)\n", c.Paint(terminal.Green, "changed:"), show.Line(cli.ShortPath(ch.File.Path, host.Home)), cli.Plural(len(ch.Changed()), "server"), show.Line(cli.ShortPath(backup, host.Home))))
	}
	return written, errors.Join(failed...)
}

// A changedError is about a file that is not any more what was read. It matches [ownfile.ErrChanged].
type changedError struct{ path string }

func (e *changedError) Error() string {
	return e.path + " was changed meanwhile, by its client or by you, and was left as it is: run the command again"
}

func (e *changedError) Unwrap() error { return ownfile.ErrChanged }

// ServerTitle returns the name of an entry, for a line of text.
func ServerTitle(e wrapping.Entry) string {
	if e.Server == "" {
		return "(no name)"
	}
	return show.Name(e.Server)
}

// longLine is the length of a line above which a diff is hard to read.
const longLine = 400

// DiffText returns the diff of a file in colours. If the file is a single line, or has several servers
// in one long line, it has the command lines of the servers instead.
func DiffText(c terminal.Console, ch *wrapping.Change) string {
	diff := ch.Diff()
	// A whole file in one line would be one line of the difference.
	oneLine := !bytes.Contains(bytes.TrimSpace(ch.After), []byte{'\n'})
	if oneLine || slices.ContainsFunc(strings.Split(diff, "\n"), func(l string) bool { return len(l) > longLine }) {
		path := show.Name(ch.File.Path)
		diff = fmt.Sprintf("--- %s\n+++ %s\n", path, path)
		for _, s := range ch.Changed() {
			diff += "-" + ServerTitle(s.Entry) + ": " + shown.Line(s.Argv()) + "\n+" + ServerTitle(s.Entry) + ": " + shown.Line(s.After) + "\n"
		}
	}
	return PaintDiff(c, diff)
}

// PaintDiff returns a diff in colours.
func PaintDiff(c terminal.Console, diff string) string {
	var b strings.Builder
	for line := range strings.Lines(diff) {
		line = show.Line(cli.Clip(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    "), 2*longLine))
		switch {
		case strings.HasPrefix(line, "+"):
			line = c.Paint(terminal.Green, line)
		case strings.HasPrefix(line, "-"):
			line = c.Paint(terminal.Red, line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// PrintReload says what makes the clients of changed files read them again.
func PrintReload(c terminal.Console, written []*wrapping.Change) {
	var said []string
	for _, ch := range written {
		for _, client := range append([]clients.Client{ch.File.Client}, ch.File.Also...) {
			if !ch.Rewrites() || client.Reload == "" || slices.Contains(said, client.Name) {
				continue
			}
			if said == nil {
				c.Printf("\nTo use it:\n")
			}
			said = append(said, client.Name)
			c.PrintText(fmt.Sprintf("  %s: %s\n", client.Title, client.Reload))
		}
	}
}
