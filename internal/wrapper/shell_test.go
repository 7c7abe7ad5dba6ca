package wrapper

import (
	"os/exec"
	"strings"
	"testing"
)

// FuzzSplitCommand: a command that is split gets the same words from a real shell.
func FuzzSplitCommand(f *testing.F) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		f.Skip("no sh")
	}
	for _, s := range []string{"a b", "'a b' \"c d\"", `a\ b \$x "\$y" "\a\\"`, "a#b x~y p@^1 50% a=b", "''", `""`, "a''b", "A=1 b", "a  \t b", "-n", "~", "a:~b", "a=~", "é", "\\é", "a'b'\"c\"d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, _, why := splitCommand(text)
		if why != nil || strings.ContainsRune(text, 0) {
			return
		}
		out, err := exec.Command(sh, "-c", `for w in x `+text+`; do printf '%s\0' "$w"; done`).Output()
		if err != nil {
			t.Fatalf("%q: %q, but the shell says %v", text, words, err)
		}
		if got := strings.Join(append([]string{"x"}, words...), "\x00") + "\x00"; got != string(out) {
			t.Fatalf("%q: %q, but the shell has %q", text, words, out)
		}
	})
}

// TestNotSplit: what needs a shell is not understood.
func TestNotSplit(t *testing.T) {
	for _, text := range []string{
		"a && b", "a | b", "a > b", "a $A", `a "$A"`, "a `b`", "a; b", "a*", "a {b,c}", "~/a", "a # b", "(a)", "! a", "a 'b", `a "b`, `a\`, "a\nb", "A=$B a", "a b=~", "a :~", "a =b", `"a\` + "\n" + `b"`, "a\x7f", "%1", "^a^b",
	} {
		if words, _, err := splitCommand(text); err == nil {
			t.Errorf("%s: %q", text, words)
		}
	}
}
