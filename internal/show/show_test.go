package show_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/mcp-jail/mcp-jail/internal/show"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestLine covers the escape sequences of ECMA-48 in both forms, what does not show, and the mark.
func TestLine(t *testing.T) {
	for _, row := range testkit.Rows(t, "lines.txt", 2) {
		text, want := row[0], row[1]
		got := show.Line(text)
		if got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
		if again := show.Line(got); again != got {
			t.Errorf("Line(%q) = %q", got, again)
		}
	}
}

// FuzzLine looks for texts of which Line leaves a hidden character, or one that looks like the mark.
func FuzzLine(f *testing.F) {
	f.Add("\x1b[2J\r\u202emcp-jail: [mcp-jail] x\n\x9b1A")
	f.Fuzz(func(t *testing.T, text string) {
		got := show.Line(text)
		if strings.ContainsFunc(got, func(r rune) bool { return show.IsHidden(r) || unicode.IsControl(r) }) || strings.Contains(strings.ToLower(got), "[mcp-jail") || show.Line(got) != got {
			t.Errorf("%q: %q", text, got)
		}
		var back string
		if err := json.Unmarshal([]byte(show.Item(got)), &back); err != nil || back != got {
			t.Errorf("%q: %q %v", got, back, err)
		}
	})
}

// TestTyped: no line is proposed whose operand the command would take for a flag.
func TestTyped(t *testing.T) {
	const noLine = "(there is no line that a shell would read as meant: the name "
	quote := "'"
	if runtime.GOOS == "windows" {
		quote = `"`
	}
	for _, c := range []struct{ command, operand, want string }{
		{"cat -v", "/a b", "cat -v " + quote + "/a b" + quote}, {"cat -v", "-x", noLine + `begins with "-")`}, {"mcp-jail run --", "-x", "mcp-jail run -- -x"}, {"cat -v", "a\x1b[2J", noLine + "has characters that do not show)"},
	} {
		if got := show.Typed(c.command, c.operand); got != c.want {
			t.Errorf("%q %q: %q", c.command, c.operand, got)
		}
	}
}

func TestExpands(t *testing.T) {
	for word, want := range map[string]bool{
		"~/${A:-.ssh}/": true, "${env:A}": true, "$A": true, "$(id)": true, "{env:A}": true, "{file:a}": true, "%A%": true, "${{ secrets.A }}": true,
		"a$": false, "100%": false, "/a/{b}": false, "~/x": false, "%41": false,
	} {
		if got := show.Expands(word); got != want {
			t.Errorf("%q: %v", word, got)
		}
	}
}

func TestCandidate(t *testing.T) {
	for word, want := range map[string]bool{
		"read_file": true, "_x": true, "memory_mb=": true, "a b": true,
		"_activeHelp_ x": false, "a\x1b]0;P\x07": false, "--write": false, "a:b": false, "a\tb": false, ":4": false, "": false, "a\u202e": false,
	} {
		if _, got := show.Candidate(word, "about\x1b[2J"); got != want {
			t.Errorf("%q: %v", word, got)
		}
	}
}

func TestTOML(t *testing.T) {
	if got, want := show.TOML("a\"\\\n\u202e\U000e0041[mcp-jail]"), `"a\"\\\n\u202E\U000E0041\u005Bmcp-jail]"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestName: a name that does not show as it is, or could be words or a line of mcp-jail's own, is in
// quotes.
func TestName(t *testing.T) {
	for name, want := range map[string]string{
		"files": "files", "/a b/c": "/a b/c", "é": "é", "~": "~", "": `""`, " a": `" a"`, "a (b)": `"a (b)"`,
		"a\nb": `"a\nb"`, "a\u202eb": `"a\u202eb"`, "m\u3164y": `"m\U00003164y"`, "\xff": `"\xff"`, "\u0085": `"\u0085"`,
		"mcp-jail: ok": `"mcp-jail: ok"`, "MCP‑JAIL: ok": `"MCP‑JAIL: ok"`, "[mcp-jail] x": `"\U0000005bmcp-jail] x"`,
	} {
		if got := show.Name(name); got != want {
			t.Errorf("Name(%q) = %s, want %s", name, got, want)
		}
	}
}

// TestAbbreviate: a text is not cut within a character.
func TestAbbreviate(t *testing.T) {
	start := strings.Repeat("a", 76)
	if got := show.Abbreviate(start + "ééé"); got != start+"..." {
		t.Errorf("%q", got)
	}
}

func TestProgram(t *testing.T) {
	for command, want := range map[string]string{
		"node": "node", "/opt/my app/node x.js": "/opt/my app/node x.js", "/opt/a - b/x": "/opt/a - b/x", "/opt/a=b/x": "/opt/a=b/x", "": "", " ": " ",
		"npx -y p --token=abc": "npx …", "/x/s --key abc": "/x/s …", "node  s.js  --key=a": "node  s.js  …",
		"mcp-remote https://u:p@h/": "mcp-remote …", "npx p API_KEY=abc": "npx p API_KEY=…", "TOKEN=abc npx p": "TOKEN=…",
	} {
		if got := show.Program(command); got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}
