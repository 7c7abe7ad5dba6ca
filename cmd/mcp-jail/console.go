package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"unicode"

	"github.com/mattn/go-isatty"
)

// The voice of the terminal:
//   - One thing a line, lower case, no full stop at the end of a line that
//     stands alone, a full sentence where something is explained.
//   - An error says what failed, for which thing, why, and what helps, in this order.
//   - Standard output is for what was asked for; everything else, and under run
//     everything at all, goes to standard error.
//   - Colour only carries what the words say too.

// console is the three standard streams with what is known about them, and what else
// the caller gave this process.
type console struct {
	in         *os.File
	out, err   *os.File
	colour     bool // of out
	errTTY     bool
	writeErr   *error          // the first error of a write to the terminal; nil if the caller does not want it
	umask      *int            // the caller's, where this process has another
	exitSignal *syscall.Signal // by which this process is to end; 0: none
}

// withColours turns colours on for a terminal, unless NO_COLOR is set to
// anything (no-color.org) or the terminal is a dumb one.
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

// errorf prints an error; its further lines stand indented below it.
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

// printableLines is printable, line by line.
func printableLines(s string) string {
	l := strings.Split(s, "\n")
	for i := range l {
		l[i] = printable(l[i])
	}
	return strings.Join(l, "\n")
}

// printable takes the terminal's controls out of text that a server chose, or
// who named the files of a repository.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
