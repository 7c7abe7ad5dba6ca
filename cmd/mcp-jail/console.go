package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
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

// console is the three standard streams and other state of the process: what it
// inherited from its caller, and how it is to end.
type console struct {
	in         *os.File
	out, err   *os.File
	colour     bool            // out gets colours
	errTTY     bool            // err gets colours
	writeErr   *error          // receives the first error of a write to out; nil to ignore it
	umask      *int            // the inherited umask, if this process uses another
	exitSignal *syscall.Signal // receives the signal by which this process is to end; 0 for none
}

// withColours returns c with colours on for terminals, unless NO_COLOR is not empty
// (no-color.org) or TERM is "dumb".
func (c console) withColours() console {
	plain := os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	c.colour = !plain && isTerminal(c.out)
	c.errTTY = !plain && isTerminal(c.err)
	return c
}

// isTerminal reports whether f is a terminal. It does not call f.Fd, which would make
// the file blocking for every process that shares it.
func isTerminal(f *os.File) (is bool) {
	conn, err := f.SyscallConn()
	return err == nil && conn.Control(func(fd uintptr) { is = isatty.IsTerminal(fd) }) == nil && is
}

const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	dim    = "2"
)

func paint(on bool, code, s string) string {
	if !on {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (c console) paint(code, s string) string { return paint(c.colour, code, s) }

func (c console) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(c.out, format, args...); err != nil && c.writeErr != nil && *c.writeErr == nil {
		*c.writeErr = err
	}
}

// errorf prints an error. Its second and later lines are indented.
func (c console) errorf(format string, args ...any) {
	msg := printableLines(strings.TrimRight(fmt.Sprintf(format, args...), "\n"))
	for i, line := range strings.Split(msg, "\n") {
		switch {
		case i == 0:
			line = paint(c.errTTY, red, "error:") + " " + line
		case !strings.HasPrefix(line, "  "):
			line = "  " + line
		}
		fmt.Fprintln(c.err, line)
	}
}

// printableLines applies printable to each line.
func printableLines(s string) string {
	l := strings.Split(s, "\n")
	for i := range l {
		l[i] = printable(l[i])
	}
	return strings.Join(l, "\n")
}

// printable replaces the control characters in untrusted text, such as the output of a
// server or the names of files.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
