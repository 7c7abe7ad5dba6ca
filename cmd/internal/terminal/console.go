// Package terminal writes what mcp-jail and mcp-jail-cli say to people: to a terminal, a pipe
// or a file. A [Console] has the three streams of the process, and knows their width.
// [Printable] makes text safe that comes from a server or names a file.
//
// Nothing here decides what is said. Under run, standard output belongs to MCP: package lifecycle
// writes to it, and package target tells a client there how far an installation is.
package terminal

import (
	"fmt"
	"os"
	"strings"

	"github.com/mattn/go-isatty"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Rules for terminal output:
//   - One fact a line, in lower case, without a full stop at the end of a single line.
//     Explanations are full sentences.
//   - An error says what failed, on which object, why, and what helps, in this order.
//   - Standard output has only what the user asked for. Everything else goes to
//     standard error. Under run standard output has only MCP.
//   - Colour repeats what the words say and never replaces them.

// Console is the three standard streams, and the umask that the process inherited.
type Console struct {
	In, Out, Err *os.File

	Colour   bool   // Out gets colours
	ErrTTY   bool   // Err gets colours
	WriteErr *error // receives the first error of a write to Out; nil to ignore it
	Umask    *int   // the inherited umask, if this process uses another
}

// WithColours returns c with colours for the streams that are terminals. There are none if
// NO_COLOR has a value (no-color.org) or TERM is "dumb".
func (c Console) WithColours() Console {
	plain := os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	c.Colour = !plain && IsTerminal(c.Out)
	c.ErrTTY = !plain && IsTerminal(c.Err)
	return c
}

// IsTerminal reports whether f is a terminal. It does not call f.Fd, which would make
// the file blocking for every process that shares it.
func IsTerminal(f *os.File) (is bool) {
	conn, err := f.SyscallConn()
	return err == nil && conn.Control(func(fd uintptr) { is = isatty.IsTerminal(fd) }) == nil && is
}

// Colours and weights for Paint.
const (
	Bold   = "1"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Dim    = "2"
)

// screen is the last step before a stream: it lets through what Paint writes, and no other escape
// sequence or hidden character.
func screen(s string) string {
	return show.Screen(s, "\x1b[0m", "\x1b["+Bold+"m", "\x1b["+Red+"m", "\x1b["+Green+"m", "\x1b["+Yellow+"m", "\x1b["+Dim+"m")
}

func paint(on bool, code, s string) string {
	if !on {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Paint returns s in a colour, if Out gets colours.
func (c Console) Paint(code, s string) string { return paint(c.Colour, code, s) }

// Printf prints to Out. The first error is kept in WriteErr.
func (c Console) Printf(format string, args ...any) {
	if _, err := fmt.Fprint(c.Out, screen(fmt.Sprintf(format, args...))); err != nil && c.WriteErr != nil && *c.WriteErr == nil {
		*c.WriteErr = err
	}
}

// Notef prints a remark for people to Err, folded. A newline is added.
func (c Console) Notef(format string, args ...any) {
	fmt.Fprintln(c.Err, screen(Fold(ShortHome(fmt.Sprintf(format, args...), os.Getenv("HOME")), textColumns(c.Err))))
}

// Ask prints a question to Err, folded, with its two answers.
func (c Console) Ask(question string) {
	fmt.Fprint(c.Err, Fold(show.Line(question)+" [y/N]", textColumns(c.Err))+" ")
}

// Errorf prints an error to Err, folded. Its second and later lines are indented.
func (c Console) Errorf(format string, args ...any) {
	msg := ShortHome(show.Lines(strings.TrimRight(fmt.Sprintf(format, args...), "\n")), os.Getenv("HOME"))
	for i, line := range strings.Split(msg, "\n") {
		switch {
		case i == 0:
			line = paint(c.ErrTTY, Red, "error:") + " " + line
		case !strings.HasPrefix(line, "  "):
			line = "  " + line
		}
		fmt.Fprintln(c.Err, Fold(line, textColumns(c.Err)))
	}
}
