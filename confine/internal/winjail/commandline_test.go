package winjail

import (
	"slices"
	"strings"
	"testing"
)

// split reads a command line by the rules that Microsoft publishes for CommandLineToArgvW. It is written
// from them alone, as an automaton, and shares nothing with CommandLine.
func split(line string) (argv []string) {
	i := 0
	// The first word: no backslash is special.
	var first []byte
	if i < len(line) && line[i] == '"' {
		for i++; i < len(line) && line[i] != '"'; i++ {
			first = append(first, line[i])
		}
		i++
	} else {
		for ; i < len(line) && line[i] > ' '; i++ {
			first = append(first, line[i])
		}
	}
	argv = append(argv, string(first))
	for {
		for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
			i++
		}
		if i >= len(line) {
			return argv
		}
		var word []byte
		quoted := false
		for i < len(line) && (quoted || line[i] != ' ' && line[i] != '\t') {
			n := 0
			for ; i < len(line) && line[i] == '\\'; i++ {
				n++
			}
			if i >= len(line) || line[i] != '"' {
				for ; n > 0; n-- {
					word = append(word, '\\')
				}
				if i < len(line) && (quoted || line[i] != ' ' && line[i] != '\t') {
					word = append(word, line[i])
					i++
				}
				continue
			}
			for ; n > 1; n -= 2 {
				word = append(word, '\\')
			}
			switch {
			case n == 1:
				word = append(word, '"')
			case quoted && i+1 < len(line) && line[i+1] == '"': // two in a quotation are one
				word = append(word, '"')
				i++
			default:
				quoted = !quoted
			}
			i++
		}
		argv = append(argv, string(word))
	}
}

// TestSplit holds the reader of the tests to examples that Microsoft publishes.
func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		`p "abc" d e`:        {"p", "abc", "d", "e"},
		`p a\\\b d"e f"g h`:  {"p", `a\\\b`, "de fg", "h"},
		`p a\\\"b c d`:       {"p", `a\"b`, "c", "d"},
		`p a\\\\"b c" d e`:   {"p", `a\\b c`, "d", "e"},
		`p "a \"b\" c" "" z`: {"p", `a "b" c`, "", "z"},
		`"C:\a b\" x`:        {`C:\a b\`, "x"},
	} {
		if got := split(line); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	for want, argv := range map[string][]string{
		`"C:\Program Files\node.exe" x.js`:  {`C:\Program Files\node.exe`, "x.js"},
		`"p" "" a\b`:                        {"p", "", `a\b`},
		`"p" "a b\\" "q\"r" "\\\"" C:\dir\`: {"p", `a b\`, `q"r`, `\"`, `C:\dir\`},
		`"p" x&calc %PATH%`:                 {"p", "x&calc", "%PATH%"},
	} {
		if got, err := CommandLine(argv); got != want || err != nil {
			t.Errorf("%q: %s, %v, want %s", argv, got, err, want)
		}
	}
	for name, argv := range map[string][]string{
		"none": nil, "empty": {""}, "quote": {`a"b`}, "zero": {"p", "a\x00b"}, "long": {"p", strings.Repeat("x", maxCommandLine)},
	} {
		if got, err := CommandLine(argv); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := CommandLine([]string{"p", strings.Repeat("x", maxCommandLine-5)}); err != nil {
		t.Errorf("the longest: %v", err)
	}
}

// FuzzCommandLine: every argument arrives as it was given.
func FuzzCommandLine(f *testing.F) {
	for _, s := range []string{"", `a b\`, `q"r`, `\\\"`, "a\tb", `""`, "ü\n\v", `\\server\share\`, `a" "b`} {
		f.Add(`C:\x y\p.exe`, s, `\`)
		f.Add("p", `"`, s)
	}
	f.Fuzz(func(t *testing.T, program, a, b string) {
		want := []string{program, a, b}
		line, err := CommandLine(want)
		if err != nil {
			return
		}
		if got := split(line); !slices.Equal(got, want) {
			t.Errorf("%q became %s, and arrived as %q", want, line, got)
		}
	})
}
