package show

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestDiff(t *testing.T) {
	for _, c := range testkit.Table[struct {
		name, before, after, want string
		context                   int
	}](t, "diffs.txt") {
		want := c.want
		if want != "" {
			want = "--- f\n+++ f\n" + want
		}
		if got := (Diff{Context: c.context}).Unified("f", []byte(c.before), []byte(c.after)); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, got, want)
		}
	}
}

// TestDiffApplies applies diffs of random files with a patcher of its own.
func TestDiffApplies(t *testing.T) {
	text := func(r *rand.Rand) string {
		var b strings.Builder
		for range r.IntN(30) {
			fmt.Fprintf(&b, "%d\n", r.IntN(5))
		}
		return strings.TrimRight(b.String(), strings.Repeat("\n", r.IntN(2)))
	}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		before, after := text(r), text(r)
		diff := Diff{Context: r.IntN(4), Counts: r.IntN(2) == 1}.Unified("f", []byte(before), []byte(after))
		if got := patch(t, before, diff); got != after {
			t.Fatalf("seed %d: %q and\n%s give %q, want %q", seed, before, diff, got, after)
		}
	}
	large := func(by string) []byte { return []byte(strings.Repeat(by, 3000)) }
	if diff := (Diff{Context: 3}).Unified("f", large("a\n"), large("b\n")); patch(t, string(large("a\n")), diff) != string(large("b\n")) {
		t.Error("files without a common line")
	}
}

func patch(t *testing.T, before, diff string) string {
	t.Helper()
	if diff == "" {
		return before
	}
	diff = strings.ReplaceAll(diff, "\n\\ No newline at end of file\n", "\x00")
	var out strings.Builder
	rest, line := splitLines([]byte(before)), 1
	for _, l := range strings.FieldsFunc(strings.ReplaceAll(diff, "\x00", "\x00\n"), func(r rune) bool { return r == '\n' })[2:] {
		text, full := strings.CutSuffix(l, "\x00")
		if !full {
			text += "\n"
		}
		switch l[0] {
		case '@':
			var from, count int
			if n, _ := fmt.Sscanf(l, "@@ -%d,%d", &from, &count); n == 2 && count == 0 {
				from++
			}
			for ; line < from; line++ {
				out.WriteString(rest[0])
				rest = rest[1:]
			}
		case '+':
			out.WriteString(text[1:])
		default:
			if len(rest) == 0 || rest[0] != text[1:] {
				t.Fatalf("%q does not fit in\n%s", l, diff)
			}
			if l[0] == ' ' {
				out.WriteString(rest[0])
			}
			rest, line = rest[1:], line+1
		}
	}
	return out.String() + strings.Join(rest, "")
}

// TestWindowsWord: a word that is proposed is one that PowerShell, cmd.exe and the program read alike. The
// others are shown and not proposed.
func TestWindowsWord(t *testing.T) {
	for _, c := range testkit.Table[struct {
		in, word string
		ok       bool
	}](t, "windows-words.txt") {
		if word, ok := windowsWord(c.in); word != c.word || ok != c.ok {
			t.Errorf("%s: %s, %v; want %s, %v", c.in, word, ok, c.word, c.ok)
		}
	}
}

// TestWindowsPath: a path is shown as Windows writes it.
func TestWindowsPath(t *testing.T) {
	for plain, quoted := range map[string]string{`C:\Users\me\.mcp.json`: `"C:\\Users\\me\\.mcp.json"`, `\\server\x`: `"\\\\server\\x"`} {
		testkit.Equal(t, plain, Name(plain), map[bool]string{true: plain, false: quoted}[onWindows])
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
