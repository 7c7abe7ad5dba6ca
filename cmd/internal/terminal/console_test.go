package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestConsole tests that a console writes mcp-jail's own colours, and no other escape sequence or
// hidden character of a text.
func TestConsole(t *testing.T) {
	hostile := "a\x1b]0;PWN\x07b\u009b2Jc\rd\u202ee\u200bf\u2028g\x00h\u3164i"
	for name, write := range map[string]func(c Console, text string){
		"Printf":    func(c Console, text string) { c.Printf("%s\n", text) },
		"PrintText": func(c Console, text string) { c.PrintText(text) },
		"Notef":     func(c Console, text string) { c.Notef("%s", text) },
		"Ask":       func(c Console, text string) { c.Ask(text, "[y/N]") },
		"Errorf":    func(c Console, text string) { c.Errorf("%s", text) },
		"Sayf":      func(c Console, text string) { c.Sayf("%s", text) },
		"Writer":    func(c Console, text string) { fmt.Fprint(c.Writer(), text) },
		"ErrWriter": func(c Console, text string) { fmt.Fprint(c.ErrWriter(), text) },
	} {
		f, err := os.Create(filepath.Join(t.TempDir(), "out"))
		testkit.Must(t, err)
		c := New(nil, f, f)
		c.Colour, c.ErrTTY = true, true
		write(c, hostile)
		got, err := os.ReadFile(f.Name())
		testkit.Must(t, err)
		plain := string(got)
		for _, seq := range colours {
			plain = strings.ReplaceAll(plain, seq, "")
		}
		if strings.ContainsFunc(strings.ReplaceAll(plain, "\n", ""), show.IsHidden) || !strings.Contains(plain, "a") {
			t.Errorf("%s: %q", name, got)
		}
		f.Close()
	}
	if got := screen("\x1b[31mred\x1b[0m \x1b[8mhidden"); got != "\x1b[31mred\x1b[0m hidden" {
		t.Errorf("%q", got)
	}
}
