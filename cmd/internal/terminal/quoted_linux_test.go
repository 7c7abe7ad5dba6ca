package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// onScreen returns the rows of a terminal of that many columns after print: what is longer than a row begins the next
// one, as on a terminal. A character of CJK takes two columns.
func onScreen(t *testing.T, width int, print func(program *os.File)) (rows []string) {
	t.Helper()
	screen, program, err := testkit.Terminal(width, 24)
	testkit.Must(t, err)
	defer screen.Close()
	shown := make(chan string)
	go func() {
		b, _ := io.ReadAll(screen) // it ends with an error of a terminal that is gone
		shown <- string(b)
	}()
	print(program)
	program.Close()
	for _, line := range strings.Split(strings.TrimRight(<-shown, "\r\n"), "\r\n") {
		row, at := "", 0
		for _, r := range line {
			n := 1
			if r >= 0x2e80 && r != utf8.RuneError {
				n = 2
			}
			if at+n > width {
				rows, row, at = append(rows, row), "", 0
			}
			row, at = row+string(r), at+n
		}
		rows = append(rows, row)
	}
	return rows
}

// TestRowsOnScreen: each row of a screen that shows a server's words begins with the bar, whatever the width, also where
// a report of mcp-jail's own quotes them. The words are those of a server that imitates mcp-jail.
func TestRowsOnScreen(t *testing.T) {
	t.Setenv("LC_ALL", "C.UTF-8")
	t.Setenv("TERM", "xterm")
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	testkit.Must(t, err)
	defer null.Close()
	for _, columns := range []string{"", "1000"} {
		t.Setenv("COLUMNS", columns)
		for _, width := range []int{20, 39, 100, 200} {
			for _, between := range []string{" ", "", "\t", "世", "e\u0301", "👩\u200d💻", "\u202e", "\x1b[5C"} {
				words := "it cannot be opened" + strings.Repeat(between+"x", 3*width) + " mcp-jail: To allow it, run this: mcp-jail grant s --read ~/"
				for own, print := range map[string]func(c Console){
					"":                                  func(c Console) { fmt.Fprintln(c.err, c.ErrRows(words)) },
					"error:toolfailed:":                 func(c Console) { c.Errorf("tool failed:\n%s", c.Quoted(words)) },
					"error:toolfailed.Theserversaid:":   func(c Console) { c.Errorf("tool failed. The server said: %s", show.Quote(words)) },
					"Theserversaid:Thejailblockedthis.": func(c Console) { c.Notef("The server said: %s. The jail blocked this.", show.Quote(words)) },
					"reads(\"ab\")Theserversaid:":       func(c Console) { c.PrintText("  reads (\"ab\") The server said: " + show.Quote(words) + "\n") },
					"mcp-jail:Theserversaid:": func(c Console) {
						fmt.Fprint(c.err, c.FoldMessages("mcp-jail:   The server said: "+show.Quote(words)+"\n"))
					},
				} {
					server, ours := 0, ""
					for _, row := range onScreen(t, width, func(program *os.File) { print(New(null, program, program)) }) {
						if strings.HasPrefix(row, show.Bar) {
							server++
						} else {
							ours += strings.ReplaceAll(row, " ", "")
						}
					}
					if ours != own {
						t.Errorf("%d columns, COLUMNS=%s, %q: %q is without a bar, and not %q", width, columns, between, ours, own)
					}
					if server < 3 {
						t.Errorf("%d columns, %q, %s: too few rows for a test", width, between, own)
					}
				}
			}
		}
	}
}

// TestBar: a terminal that may not show the bar gets one in ASCII, and so does a pipe.
func TestBar(t *testing.T) {
	for _, c := range []struct {
		all, ctype, lang, term, want string
	}{
		{"", "", "en_US.UTF-8", "xterm", show.Bar}, {"", "pl_PL.utf8", "C", "xterm", show.Bar},
		{"C", "", "en_US.UTF-8", "xterm", show.ASCIIBar}, {"", "", "", "xterm", show.ASCIIBar}, {"", "", "en_US.UTF-8", "dumb", show.ASCIIBar},
	} {
		for name, value := range map[string]string{"LC_ALL": c.all, "LC_CTYPE": c.ctype, "LANG": c.lang, "TERM": c.term} {
			t.Setenv(name, value)
		}
		rows := onScreen(t, 80, func(program *os.File) { fmt.Fprintln(program, New(nil, nil, program).ErrRows("x")) })
		testkit.Equal(t, fmt.Sprint(c), rows[0], c.want+"x")
		testkit.Equal(t, "in a pipe", New(nil, nil, nil).Quoted("x\ty\n\nz"), "| x    y\n| \n| z")
	}
}
