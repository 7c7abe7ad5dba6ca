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
	"unicode"

	"github.com/mattn/go-isatty"
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
	if _, err := fmt.Fprintf(c.Out, format, args...); err != nil && c.WriteErr != nil && *c.WriteErr == nil {
		*c.WriteErr = err
	}
}

// Notef prints a remark for people to Err, folded. A newline is added.
func (c Console) Notef(format string, args ...any) {
	fmt.Fprintln(c.Err, Fold(ShortHome(fmt.Sprintf(format, args...), os.Getenv("HOME")), textColumns(c.Err)))
}

// Ask prints a question to Err, folded, with its two answers.
func (c Console) Ask(question string) {
	fmt.Fprint(c.Err, Fold(Printable(question)+" [y/N]", textColumns(c.Err))+" ")
}

// Errorf prints an error to Err, folded. Its second and later lines are indented.
func (c Console) Errorf(format string, args ...any) {
	msg := ShortHome(PrintableLines(strings.TrimRight(fmt.Sprintf(format, args...), "\n")), os.Getenv("HOME"))
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

// PrintableLines applies Printable to each line.
func PrintableLines(s string) string {
	l := strings.Split(s, "\n")
	for i := range l {
		l[i] = Printable(l[i])
	}
	return strings.Join(l, "\n")
}

// Printable replaces the characters that do not print in untrusted text, such as the output of a
// server or the names of files. Among them are line ends.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
