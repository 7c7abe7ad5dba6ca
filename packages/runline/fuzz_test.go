package runline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/runline"
)

// FuzzParse: no line makes Parse panic or changes it, each package is one of a registry, and the arguments
// are words of the line. Words are separated by 0x1f.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"npx -y pkg a -- b", "npx -p a c", "npm exec pkg a -- -b", "uvx --from a[b]==1 c d", "sh -c npx", "env A=1 npx a b",
		"cmd /c npx a", "uv tool run --with x a", "timeout -k 5 30 nice npx a b", "env -C /d -u X A=b npx a b", "npx a@npm:b@1",
	} {
		f.Add(strings.ReplaceAll(s, " ", "\x1f"))
	}
	f.Add("sh\x1f-c\x1fA=b exec npx -y 'a' \"b c\" d\\ e")
	f.Fuzz(func(t *testing.T, text string) {
		argv := strings.Split(text, "\x1f")
		before := slices.Clone(argv)
		l, err := runline.Parse(argv)
		testkit.MustEqual(t, "was changed to", argv, before)
		if err != nil {
			_ = err.Error()
			return
		}
		if len(l.Packages) == 0 || l.Wanted() == "" {
			t.Fatalf("%q: %+v", argv, l)
		}
		for _, p := range l.Packages {
			if p.Name == "" || strings.HasPrefix(p.Raw, "-") || strings.ContainsAny(strings.TrimPrefix(p.Raw, p.Name), ":/\\") {
				t.Fatalf("%q: %+v", argv, p)
			}
		}
		for _, a := range l.Args {
			if !slices.Contains(argv, a) && !strings.Contains(text, "-c") && !strings.Contains(text, "/c") {
				t.Fatalf("%q: the argument %q comes from nowhere", argv, a)
			}
		}
	})
}

// TestParseIsCheap: a command that is no launcher costs no allocation.
func TestParseIsCheap(t *testing.T) {
	for _, line := range []string{"/usr/bin/node /srv/dist/index.js --stdio", "/opt/my.server --x", "python3 -m server", "npm start", "C:\\a\\server.exe"} {
		argv := strings.Fields(line)
		if n := testing.AllocsPerRun(100, func() { _, _ = runline.Parse(argv) }); n > 0 {
			t.Errorf("%s: %v allocations", line, n)
		}
	}
}
