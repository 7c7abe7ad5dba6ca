package show

import "testing"

// TestWindowsWord: a word that is proposed is one that PowerShell, cmd.exe and the program read alike. The
// others are shown and not proposed.
func TestWindowsWord(t *testing.T) {
	for _, c := range []struct {
		in, word string
		ok       bool
	}{
		{`C:\work\x.exe`, `C:\work\x.exe`, true}, {`C:\Program Files\a`, `"C:\Program Files\a"`, true}, {"", `""`, true},
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
