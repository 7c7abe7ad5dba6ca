package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

func TestFold(t *testing.T) {
	for _, c := range testkit.Table[struct{ text, want string }](t, "fold.txt") {
		if got := Fold(c.text, 18); got != c.want {
			t.Errorf("%q:\n%s\nwant:\n%s", c.text, got, c.want)
		}
	}
	for _, line := range strings.Split(Fold(strings.Repeat("word ", 200), textWidth), "\n") {
		if len(line) > textWidth {
			t.Errorf("%d characters", len(line))
		}
	}
}

func TestShortHome(t *testing.T) {
	for text, want := range testkit.Named[string](t, "fold-lines.txt") {
		if got := ShortHome(text, "/home/u"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestFoldMessages: the lines of a session's messages are folded, and what is copied stays whole.
func TestFoldMessages(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	t.Setenv("COLUMNS", "40")
	text := "mcp-jail:   cause: the jail refused to write /home/u/a/file\nmcp-jail:     [[servers.\"a b\".access.fs]] # which is long\n"
	want := "mcp-jail:   cause: the jail refused to\nmcp-jail:       write ~/a/file\nmcp-jail:     [[servers.\"a b\".access.fs]] # which is long\n"
	if got := New(nil, nil, os.Stderr).FoldMessages(text); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestFoldSpaces: the time does not grow faster than the text.
func TestFoldSpaces(t *testing.T) {
	if got := Fold("a"+strings.Repeat(" ", 1<<20)+"b", 100); len(got) > 9<<17 || !strings.HasSuffix(got, "b") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestWords(t *testing.T) {
	for line, want := range testkit.Named[string](t, "words.txt") {
		if got := strings.Join(ShownWords(strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestShownInOneWord: a whole command line in one word is shown without its secrets, too.
func TestShownInOneWord(t *testing.T) {
	for line, want := range testkit.Named[string](t, "one-word.txt") {
		if got := ShownWords([]string{"sh", "-c", line})[2]; got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestSecrets: what ShownWords hides is what SecretWords returns.
func TestSecrets(t *testing.T) {
	argv := []string{"env", "A_TOKEN=a1", "sh", "-c", `B_KEY="b 1" x --password c1 https://u:d1@h`, "--header", "Authorization: Bearer e1"}
	if got := strings.Join(SecretWords(argv), ","); got != "a1,b 1,c1,d1,e1" {
		t.Error(got)
	}
}

// TestProblemsOfTwoFiles tests that the problems of two files are printed in the order of the
// files, and those of a file in the order of its lines. The names of the files, and the lines of
// both together, have another order.
func TestProblemsOfTwoFiles(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "z.toml"), filepath.Join(dir, "a.toml")
	testkit.WriteFile(t, first, "version = 1\n[servers.s]\ncommand = 3\n\n\nodd = 6\n")
	testkit.WriteFile(t, second, "odd = 1\nversion = 1\n[servers.s]\ncommand = 4\n")
	_, err := config.Load(config.LoadOptions{Files: []string{first, second}})
	out, failed := os.Create(filepath.Join(dir, "out"))
	if failed != nil {
		t.Fatal(failed)
	}
	defer out.Close()
	if status := Report(New(nil, nil, out), err); status != Usage {
		t.Errorf("the status is %d", status)
	}
	want := []string{policy.Position(first, 3), policy.Position(first, 6), policy.Position(second, 1), policy.Position(second, 4)}
	printed, failed := os.ReadFile(out.Name())
	if failed != nil {
		t.Fatal(failed)
	}
	text, at := string(printed), 0
	for _, place := range want {
		i := strings.Index(text[at:], place+": ")
		if i < 0 {
			t.Fatalf("%s is not where it belongs:\n%s", place, text)
		}
		at += i
	}
	if n := strings.Count(text, "error: "); n != len(want) {
		t.Errorf("there are %d problems:\n%s", n, text)
	}
	if line := OneLine(err); !strings.HasPrefix(line, want[0]+": ") || !strings.HasSuffix(line, " (and 3 more: mcp-jail check)") {
		t.Errorf("in one line: %q", line)
	}
}

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

// TestSlowly tests that work which goes on is named before it has ended.
func TestSlowly(t *testing.T) {
	read, write, err := os.Pipe()
	testkit.Must(t, err)
	defer read.Close()
	defer write.Close()
	failed := errors.New("it failed")
	err = New(nil, nil, write).Slowly("counting", func() error {
		said, _ := bufio.NewReader(read).ReadString('\n')
		testkit.Equal(t, "said meanwhile", said, "mcp-jail: counting\n")
		return failed
	})
	testkit.Is(t, "the error", err, failed)
}
