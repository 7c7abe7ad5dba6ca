package show

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestWindowsWord: a word that is proposed is one that PowerShell, cmd.exe and the program read alike. The
// others are shown and not proposed.
func TestWindowsWord(t *testing.T) {
	for _, c := range testkit.Table[struct {
		in, word string
		ok       bool
	}](t, "windows-words.txt") {
		if word, why := windowsWord(c.in); word != c.word || (why == "") != c.ok {
			t.Errorf("%s: %s, %q; want %s, %v", c.in, word, why, c.word, c.ok)
		}
	}
}

// TestWindowsPath: a path is shown as Windows writes it. One with hidden characters has escapes, and cannot
// be taken for one in which the same text stands.
func TestWindowsPath(t *testing.T) {
	for in, want := range map[string]string{
		`C:\Users\me\.mcp.json`: `C:\Users\me\.mcp.json`, `C:\a b\c`: `C:\a b\c`, `C:\Program Files (x86)\a`: `"C:\Program Files (x86)\a"`, `C:\a, b`: `"C:\a, b"`, `C:\a `: `"C:\a "`,
		"C:\\a\u202eb (x)": `"C:\\a\u202eb (x)"`, `C:\a\u202eb (x)`: `"C:\a\u202eb (x)"`, `C:\a"b`: `"C:\\a\"b"`, "C:\\a\nb": `"C:\\a\nb"`, `C:\[mcp-jail] x`: `"C:\\\U0000005bmcp-jail] x"`,
	} {
		if got := windowsPath(in); got != want || !isWindowsPath(in) {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{"", `C:`, `C:a`, `\\a\b`, `1:\a`, `mcp-jail: C:\a`} {
		if isWindowsPath(in) {
			t.Errorf("%q begins with a drive", in)
		}
	}
	for plain, quoted := range map[string]string{`C:\Users\me\.mcp.json`: `"C:\\Users\\me\\.mcp.json"`, `\\server\x`: `"\\\\server\\x"`} {
		if got, want := Name(plain), map[bool]string{true: plain, false: quoted}[onWindows]; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestNoLine: where no line is proposed, the reason is that of the name and of the system.
func TestNoLine(t *testing.T) {
	for _, c := range []struct{ in, unix, windows string }{
		{"a b", "", ""}, {"-x", `begins with "-"`, `begins with "-"`}, {"a\x1b[2J", "has characters that do not show", "has characters that do not show"},
		{"", "", "is empty"}, {`a b\`, "", "ends with a backslash"}, {`a"b\`, "", `has the character ", which`}, {"50%", "", "has the character %, which"},
		{"a\u201cb", "", "has the character \u201c, which"}, {"a`$b", "", "has the character `, which"},
	} {
		for windows, want := range map[bool]string{false: c.unix, true: c.windows} {
			if line, why := typed("cat -v", []string{"x", c.in}, windows); (why == "") != (want == "") || (line == "") != (want != "") || !strings.HasPrefix(why, want) {
				t.Errorf("%q, on Windows %v: %q, %q; want %q", c.in, windows, line, why, want)
			}
		}
	}
}

// TestInDirWindows: a line with quotation marks cannot stand between others, and is not proposed.
func TestInDirWindows(t *testing.T) {
	for _, c := range []struct{ dir, line, want string }{
		{`C:\work`, "mcp-jail why a", `cmd /c "cd /d C:\work && mcp-jail why a"`},
		{`C:\a b`, "mcp-jail why a", `(type mcp-jail why a in ` + Name(`C:\a b`) + ")"},
		{`C:\work`, `mcp-jail grant a --write "b c"`, `(type mcp-jail grant a --write "b c" in ` + Name(`C:\work`) + ")"},
	} {
		if got := inDir(c.dir, c.line, true); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
