package runline

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// FuzzParse: no line makes Parse panic, and the program's arguments are the last words of
// the line, or of its shell command. Words are separated by 0x1f.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"npx -y pkg a -- b", "npx -p a -c b\\ c", "npm exec pkg a -- -b", "uvx --from a[b]==1 c d", "pipx run --spec a b", "sh -c npx", "env A=1 npx a b", "cmd /c npx a", "bunx -p a b", "pnpm --package=a dlx b", "yarn dlx -q a",
		"uv -q tool run a", "node /npx-cli.js -y a", "timeout -k 5 30 nice npx a b", "env -C /d -u X A=b npx a b", "env -iS A=b npx a b", "npx -y u/r#semver:^1", "uvx git+https://h/r@v#egg=a", "npx a@npm:b@1",
	} {
		f.Add(strings.ReplaceAll(s, " ", "\x1f"))
	}
	f.Add("sh\x1f-c\x1fA=b exec npx -y 'a' \"b c\" d\\ e")
	f.Fuzz(func(t *testing.T, text string) {
		argv := strings.Split(text, "\x1f")
		before := slices.Clone(argv)
		l, err := Parse(argv)
		if !slices.Equal(argv, before) {
			t.Fatalf("%q was changed to %q", before, argv)
		}
		if err != nil {
			_ = err.Error()
			return
		}
		_, _, _ = l.Key("/w"), l.Wanted("/w"), l.Shadows()
		if len(l.Packages) == 0 || l.Packages[0].Kind == "" || l.Display() == "" {
			t.Fatalf("%q: %+v", argv, l)
		}
		for _, p := range l.Packages {
			if p.Raw == "" || strings.HasPrefix(p.Raw, "-") || (p.Kind == Registry || p.Kind == Alias) && p.Name == "" || p.Kind != Registry && p.Kind != Alias && p.Location == "" {
				t.Fatalf("%q: %+v", argv, p)
			}
		}
		if suffix(argv, l.Args) || l.Launcher == NpmExec && suffix(without(argv), l.Args) {
			return
		}
		for _, text := range argv {
			words, _, _, why := splitShell(text)
			if why == "" && (suffix(words, l.Args) || l.Launcher == NpmExec && suffix(without(words), l.Args)) || suffix(strings.Fields(text), l.Args) {
				return
			}
			for _, inner := range words { // --call in a shell command
				if again, _, _, _ := splitShell(inner); suffix(again, l.Args) {
					return
				}
			}
		}
		if subsequence(argv, l.Args) {
			return
		}
		t.Fatalf("%q: the arguments %q come from nowhere", argv, l.Args)
	})
}

// without removes the first "--".
func without(words []string) []string {
	if i := slices.Index(words, "--"); i >= 0 {
		return slices.Delete(slices.Clone(words), i, i+1)
	}
	return words
}

func suffix(words, args []string) bool {
	return len(args) <= len(words) && slices.Equal(words[len(words)-len(args):], args)
}

// subsequence reports whether npm exec can have left out options between the arguments.
func subsequence(words, args []string) bool {
	for _, w := range words {
		if len(args) > 0 && w == args[0] {
			args = args[1:]
		}
	}
	return len(args) == 0
}

// FuzzWords: a command that is split gets the same words from a real shell.
func FuzzWords(f *testing.F) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		f.Skip("no sh")
	}
	for _, s := range []string{"a b", "'a b' \"c d\"", `a\ b \$x "\$y" "\a\\"`, "a#b x~y p@^1 50% a=b", "''", `""`, "a''b", "A=1 b", "a  \t b", "-n", "~", "a:~b", "a=~", "é", "\\é", "a'b'\"c\"d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, _, _, why := splitShell(text)
		if why != "" || strings.ContainsRune(text, 0) {
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

// TestParseIsCheap: a command that is no launcher costs no allocation.
func TestParseIsCheap(t *testing.T) {
	for _, line := range []string{"/usr/bin/node /srv/dist/index.js --stdio", "/opt/my.server --x", "python3 -m server", "npm start", "C:\\a\\server.exe"} {
		argv := strings.Fields(line)
		if n := testing.AllocsPerRun(100, func() { _, _ = Parse(argv) }); n > 0 {
			t.Errorf("%s: %v allocations", line, n)
		}
	}
}
