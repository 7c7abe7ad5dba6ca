// Package terminal writes what mcp-jail and mcp-jail-cli say to people: to a terminal, a pipe
// or a file. A [Console] has the three streams of the process, and knows their width. Its methods
// are the only way to print: they let no escape sequence through but mcp-jail's own colours. Text
// that comes from a server or names a file is made one line by show.Line first.
//
// Nothing here decides what is said. Under run, standard output belongs to MCP: package lifecycle
// writes to it, and package session tells a client there how far an installation is.
package terminal

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

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
	in, out, err *os.File

	Colour   bool   // Out gets colours
	ErrTTY   bool   // Err gets colours
	WriteErr *error // receives the first error of a write to Out; nil to ignore it
	Umask    *int   // the inherited umask, if this process uses another
}

// New returns a console of three streams, without colours.
func New(in, out, err *os.File) Console { return Console{in: in, out: out, err: err} }

// Raw returns the streams themselves: for MCP, and for a program that draws on the terminal. What
// is for people goes through the other methods.
func (c Console) Raw() (in, out, err *os.File) { return c.in, c.out, c.err }

// Input returns what the user types or hands over.
func (c Console) Input() io.Reader { return c.in }

// Aside returns a console that prints to Err what is for people.
func (c Console) Aside() Console {
	c.out, c.Colour = c.err, c.ErrTTY
	return c
}

// Asks reports whether a question can be asked: the input and the output are terminals.
func (c Console) Asks() bool { return isTerminal(c.in) && isTerminal(c.out) }

// InputIsTerminal and ErrIsTerminal report whether a stream is a terminal.
func (c Console) InputIsTerminal() bool { return isTerminal(c.in) }
func (c Console) OutIsTerminal() bool   { return isTerminal(c.out) }
func (c Console) ErrIsTerminal() bool   { return isTerminal(c.err) }

// screened writes to a stream what the screen may show.
type screened struct{ to *os.File }

func (s screened) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.to, screen(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Writer and ErrWriter return Out and Err for packages that print by themselves. They must write
// whole characters.
func (c Console) Writer() io.Writer    { return screened{c.out} }
func (c Console) ErrWriter() io.Writer { return screened{c.err} }

// Sayf prints a line of progress to Err, with the prefix of mcp-jail's own lines. A newline is added.
// On a terminal the line is folded; a log is easier to search with whole lines.
func (c Console) Sayf(format string, args ...any) {
	line := messagePrefix + show.Line(fmt.Sprintf(format, args...))
	if c.ErrIsTerminal() {
		line = c.FoldMessages(line)
	}
	fmt.Fprintln(c.err, line)
}

// Slowly calls do, which prints nothing. It says what is done if that takes longer than two seconds.
func (c Console) Slowly(what string, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(2 * time.Second):
		c.Sayf("%s", what)
	}
	return <-done
}

// WithColours returns c with colours for the streams that are terminals. There are none if
// NO_COLOR has a value (no-color.org) or TERM is "dumb".
func (c Console) WithColours() Console {
	plain := os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	c.Colour = !plain && isTerminal(c.out)
	c.ErrTTY = !plain && isTerminal(c.err)
	return c
}

func isTerminal(f *os.File) bool { return term.IsTerminal(descriptor(f)) }

// Colours and weights for Paint.
const (
	Bold   = "1"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Dim    = "2"
)

// colours are the sequences of Paint, and those of the lines of the log.
var colours = []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[34m", "\x1b[35m", "\x1b[36m", "\x1b[90m"}

// screen is the last step before a stream: it lets through what Paint writes, and no other escape
// sequence or hidden character.
func screen(s string) string {
	return show.Screen(s, colours...)
}

func paint(on bool, code, s string) string {
	if !on || code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Paint returns s in a colour, if Out gets colours. Without a code it returns s.
func (c Console) Paint(code, s string) string { return paint(c.Colour, code, s) }

// Printf prints to Out. The first error is kept in WriteErr.
func (c Console) Printf(format string, args ...any) {
	if _, err := fmt.Fprint(c.out, screen(fmt.Sprintf(format, args...))); err != nil && c.WriteErr != nil && *c.WriteErr == nil {
		*c.WriteErr = err
	}
}

// Notef prints a remark for people to Err, folded. A newline is added.
func (c Console) Notef(format string, args ...any) {
	fmt.Fprintln(c.err, screen(foldFor(c.err, ShortHome(fmt.Sprintf(format, args...), os.Getenv("HOME")))))
}

// Ask prints a question to Err, folded, with its two answers: "[y/N]" or "[Y/n]".
func (c Console) Ask(question, answers string) {
	fmt.Fprint(c.err, foldFor(c.err, show.Line(question)+" "+answers)+" ") // show.Line has done what screen does
}

// bar returns what is before each row of a server's words.
func bar(terminal bool) string {
	if terminal && os.Getenv("TERM") != "dumb" && isUTF8(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))) {
		return show.Bar
	}
	return show.ASCIIBar
}

// isUTF8 reports whether a locale has characters beyond ASCII, such as "en_US.UTF-8".
func isUTF8(locale string) bool {
	locale = strings.ToLower(locale)
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

// ErrRows returns a server's words for Err, each row of which begins with a bar. Without it, a server could write what
// looks like mcp-jail's own, such as the command that grants something.
func (c Console) ErrRows(text string) string { return rows(text, c.err) }

// Quoted returns a server's words, as ErrRows does, for Out and for Err.
func (c Console) Quoted(text string) string { return rows(text, c.out, c.err) }

func rows(text string, shown ...*os.File) string {
	width, terminal := 0, false
	for _, f := range shown {
		if isTerminal(f) {
			n := columns(f)
			if n == 0 { // it does not know its width
				n = plainWidth
			}
			if terminal {
				n = min(n, width)
			}
			width, terminal = n, true
		}
	}
	return show.Rows(text, bar(terminal), width)
}

// Errorf prints an error to Err, folded.
func (c Console) Errorf(format string, args ...any) {
	msg := show.Lines(strings.TrimRight(fmt.Sprintf(format, args...), "\n"))
	for i, line := range strings.Split(msg, "\n") {
		if !show.IsRow(line) {
			line = ShortHome(line, os.Getenv("HOME"))
		}
		if i == 0 {
			line = paint(c.ErrTTY, Red, "error:") + " " + line
		}
		fmt.Fprintln(c.err, foldFor(c.err, line))
	}
}

// WriteText writes a text of a server to Out, with a line end: to a terminal what the screen may show,
// and else the text itself.
func (c Console) WriteText(text string) {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if isTerminal(c.out) {
		text = show.Screen(text)
	}
	if _, err := io.WriteString(c.out, text); err != nil && c.WriteErr != nil && *c.WriteErr == nil {
		*c.WriteErr = err
	}
}

// Restorer returns a function that makes the terminal of Input what it is now. A question whose answer is
// hidden changes it, and a signal may end the wait for the answer.
func (c Console) Restorer() (restore func()) {
	fd := descriptor(c.in)
	state, err := term.GetState(fd)
	return func() {
		if err == nil {
			term.Restore(fd, state)
		}
	}
}

// descriptor returns the descriptor of a file of this process. It does not call f.Fd, which would make
// the file blocking for every process that shares it.
func descriptor(f *os.File) (n int) {
	n = -1
	if conn, err := f.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { n = int(fd) })
	}
	return n
}

// columns returns the width of a terminal, 0 if f is none or does not know it.
func columns(f *os.File) int {
	width, _, err := term.GetSize(descriptor(f))
	if err != nil {
		return 0
	}
	return width
}

// AskText prints a question to Err, and returns the line that the user types. If hidden is set, what
// is typed is not shown.
func (c Console) AskText(question string, hidden bool) (text string, err error) {
	fmt.Fprint(c.err, show.Line(question))
	if hidden {
		var line []byte
		line, err = term.ReadPassword(descriptor(c.in))
		fmt.Fprintln(c.err)
		text = string(line)
	} else {
		text, err = bufio.NewReader(io.LimitReader(c.in, maxTyped)).ReadString('\n')
	}
	if err != nil {
		return "", fmt.Errorf("the answer could not be read: %w", err)
	}
	return strings.TrimRight(text, "\r\n"), nil
}

// maxTyped bounds the bytes of an answer.
const maxTyped = 64 << 10

// Spinner is one line of Err that changes while something is done. It is for consoles that can
// change a line: see [Console.Spins].
type Spinner struct {
	console Console
	turns   int
}

var spinnerFrames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// Spins reports whether Err is a terminal on which a line can be changed.
func (c Console) Spins() bool { return isTerminal(c.err) && os.Getenv("TERM") != "dumb" }

// Spinner returns a spinner.
func (c Console) Spinner() *Spinner { return &Spinner{console: c} }

// Show draws the line anew. A text that is too long for one line
// of the terminal is cut, because a second line could not be taken back.
func (s *Spinner) Show(text string) {
	frame := spinnerFrames[s.turns%len(spinnerFrames)]
	s.turns++
	text = fmt.Sprintf("%c %s", frame, show.Line(text))
	if width := columns(s.console.err); width > 1 && utf8.RuneCountInString(text) > width-1 {
		text = string([]rune(text)[:width-2]) + "…"
	}
	fmt.Fprint(s.console.err, "\r"+text+"\x1b[K")
}

// Clear removes the line.
func (s *Spinner) Clear() { fmt.Fprint(s.console.err, "\r\x1b[K") }
