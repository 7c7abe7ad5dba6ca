package show

import (
	"strings"
	"testing"
)

// TestWindowsWord: a word that is proposed is one that PowerShell, cmd.exe and the program read alike. The
// others are shown and not proposed.
func TestWindowsWord(t *testing.T) {
	for _, c := range []struct {
		in, word string
		ok       bool
	}{
		{`C:\work\x.exe`, `C:\work\x.exe`, true}, {`C:\Program Files\a`, `"C:\Program Files\a"`, true}, {"", `""`, false},
		{"--waive", "--waive", true}, {"-f.x", `"-f.x"`, true}, {"--net=a:1", `"--net=a:1"`, true}, {"~/x", `"~/x"`, true},
		{"a,b", `"a,b"`, true}, {"@a", `"@a"`, true}, {"a&b|c>d", `"a&b|c>d"`, true}, {"it's", `"it's"`, true}, {"(a)", `"(a)"`, true}, {"a;b", `"a;b"`, true},
		{`C:\work\`, `C:\work\`, true}, {`C:\a b\`, `"C:\a b\\"`, false}, {`a"b`, `"a"b"`, false}, {"%PATH%", `"%PATH%"`, false}, {"$env:A", `"$env:A"`, false},
		{"a`b", "\"a`b\"", false}, {"a!b", `"a!b"`, false}, {"a\u201cb", "\"a\u201cb\"", false},
	} {
		if word, ok := windowsWord(c.in); word != c.word || ok != c.ok {
			t.Errorf("%s: %s, %v; want %s, %v", c.in, word, ok, c.word, c.ok)
		}
	}
}

// TestWindowsPath: a path is shown as Windows writes it.
func TestWindowsPath(t *testing.T) {
	for plain, quoted := range map[string]string{`C:\Users\me\.mcp.json`: `"C:\\Users\\me\\.mcp.json"`, `\\server\x`: `"\\\\server\\x"`} {
		if got, want := Name(plain), map[bool]string{true: plain, false: quoted}[onWindows]; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestNoLine: where no line is proposed, the reason is that of the name and of the system.
func TestNoLine(t *testing.T) {
	const other = "is one that shells of Windows"
	for _, c := range []struct{ in, unix, windows string }{
		{"a b", "", ""}, {"-x", `begins with "-"`, `begins with "-"`}, {"a\x1b[2J", "has characters that do not show", "has characters that do not show"},
		{"", "", other}, {`a b\`, "", other}, {`a"b\`, "", other}, {"50%", "", other}, {"a\u201cb", "", other}, {"a`$b", "", other},
	} {
		for windows, want := range map[bool]string{false: c.unix, true: c.windows} {
			if line, why := typed("cat -v", []string{"x", c.in}, windows); (why == "") != (want == "") || (line == "") != (want != "") || !strings.HasPrefix(why, want) {
				t.Errorf("%q, on Windows %v: %q, %q; want %q", c.in, windows, line, why, want)
			}
		}
	}
}
