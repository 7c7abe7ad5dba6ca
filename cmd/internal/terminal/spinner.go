package terminal

import (
	"fmt"
	"os"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Spinner is one line of Err that changes while something is done. It is for consoles that can
// change a line: see [Console.Spins].
type Spinner struct {
	console Console
	turns   int
}

var spinnerFrames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// Spins reports whether Err is a terminal on which a line can be changed.
func (c Console) Spins() bool { return IsTerminal(c.err) && os.Getenv("TERM") != "dumb" }

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
