package index

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Write writes the files of changes that command makes. It returns the changes that were written. If one file cannot be
// written, it goes on with the others.
func Write(c terminal.Console, host hostfs.Host, command string, changes []*wrapping.Change) (written []*wrapping.Change, err error) {
	var failed []error
	for _, ch := range changes {
		if len(ch.Changed()) == 0 {
			continue
		}
		if ch.Rewrites() {
			_, err := ch.Write(host.StateDir, time.Now())
			var notRecorded *wrapping.BackupError
			if errors.As(err, &notRecorded) {
				c.Notef("%s %s", c.Paint(terminal.Yellow, "warning:"), notRecorded)
			} else if err != nil {
				failed = append(failed, &unchangedError{ch.File.Path, command, err})
				continue
			}
		}
		written = append(written, ch)
	}
	return written, errors.Join(failed...)
}

// An unchangedError is about a file that could not be written.
type unchangedError struct {
	path, command string
	err           error
}

func (e *unchangedError) Error() string {
	text := e.path + " was not changed"
	switch {
	case errors.Is(e.err, ownfile.ErrChanged):
		text += ": you or its client have changed it meanwhile. To go on:"
	case errors.Is(e.err, syscall.ENOSPC):
		text += ": the disk is full.\nFree some space, then run:"
	default:
		return text + ": " + strings.TrimPrefix(e.err.Error(), e.path+" is refused: ")
	}
	return text + "\n  mcp-jail " + e.command
}

func (e *unchangedError) Unwrap() error { return e.err }

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
