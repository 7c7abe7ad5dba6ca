package wrapper

import (
	"errors"
	"fmt"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestParse: where the wrapped command begins, and what env changes for it. In a line "|" separates
// words. An error names the word.
func TestParse(t *testing.T) {
	for _, row := range testkit.Rows(t, "lines.txt", 2) {
		line, want := row[0], row[1]
		argv := strings.Split(line, "|")
		l, err := Parse(path.Base(argv[0]), argv)
		got := described(l)
		if unknown := new(Error); errors.As(err, &unknown) {
			got = "error " + unknown.Word
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func described(l line) (text string) {
	if l.Plain {
		text += "plain "
	}
	for _, name := range l.Unset {
		text += "unset " + name + " "
	}
	if l.Dir != "" {
		text += "in " + l.Dir + " "
	}
	for _, v := range l.Set {
		text += fmt.Sprintf("set %s ", v)
	}
	return text + strings.Join(l.Inner, "|")
}

// TestOwn: the wrapper's own words, without those that are kept apart.
func TestOwn(t *testing.T) {
	for line, want := range map[string]string{
		"timeout|-k|1|5|x": "timeout|-k|1|5", "nice|-n5|--|x": "nice|-n5|--", "env|-i|-uA|-C/d|B=1|x": "env|-u|A|-C|/d|B=1",
	} {
		argv := strings.Split(line, "|")
		l, err := Parse(argv[0], argv)
		if got := strings.Join(l.Own, "|"); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", line, got, err, want)
		}
		if strings.Join(argv, "|") != line {
			t.Errorf("%s was changed to %q", line, argv)
		}
	}
}

// TestLauncherOf: which launcher a line begins with, "*" for one that runs what the project has.
func TestLauncherOf(t *testing.T) {
	for _, row := range testkit.Rows(t, "launchers.txt", 2) {
		line, want := row[0], row[1]
		l, ok := LauncherOf(strings.Fields(line))
		name := l.Name
		if l.Local {
			name += "*"
		}
		if name != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", line, name, ok, want)
		}
	}
}

// TestLaunchersAreDocumented: each row says what the launcher does, or has its command for a secret, and the
// documentation has it.
func TestLaunchersAreDocumented(t *testing.T) {
	packages, reference := testkit.ReadFile(t, "../../docs/packages.md"), testkit.ReadFile(t, "../../docs/reference.md")
	for _, l := range launchers {
		if (l.Does == "" || l.Instead == "") == (l.Secret == nil) || strings.Contains(l.Does+l.Instead, "--net") {
			t.Errorf("%+v", l)
		}
		if !strings.Contains(packages, "`"+l.Name) {
			t.Errorf("docs/packages.md does not have %s", l.Name)
		}
	}
	for program := range carriers {
		if !strings.Contains(reference, "`"+program+"`") {
			t.Errorf("docs/reference.md does not have %s", program)
		}
	}
}

// TestElsewhere: what has another process start the server, also behind wrappers.
func TestElsewhere(t *testing.T) {
	for line, want := range map[string]string{
		"docker|run|-i|x": InContainer, "timeout|9|ssh|host": "on another machine", "bash|-lc|exec sudo node x": AsOther, "/usr/bin/wsl.exe|x": "in another system of this machine",
		"./ssh|host": "", "node|ssh|host": "", "sh|-c|cd / && docker run x": "", "npx|docker|run": "", "": "",
	} {
		if _, got := Elsewhere(strings.Split(line, "|")); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if _, got := Elsewhere(nil); got != "" {
		t.Errorf("no words: %q", got)
	}
}

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
