package policy

import (
	"strings"
	"testing"
)

func TestDotenv(t *testing.T) {
	const file = "\ufeff# A=comment\r\nA=plain\r\nexport B = spaced value  # and a comment\r\n" + `C="quoted # \"x\" \n \d $HOME ${A}" # comment
D='single # \n ${A}'
E=` + "`back'\"tick`" + `
F="two
lines"
G=
H=a#b
  I=indented
J: no
K="never ends
L='ends' and more
M=first
M=last
N=https://u:p@h/?a=b&c=d
export	O=tab
not a line
P="x"`
	for name, want := range map[string]string{
		"A": "plain", "B": "spaced value", "C": "quoted # \"x\" \n \\d $HOME ${A}", "D": `single # \n ${A}`, "E": `back'"tick`, "F": "two\nlines", "G": "",
		"H": "a#b", "I": "indented", "M": "last", "N": "https://u:p@h/?a=b&c=d", "O": "tab",
	} {
		if got, ok, err := DotenvFile(file).Value(name); got != want || !ok || err != nil {
			t.Errorf("%s: %q, %t, %v, want %q", name, got, ok, err, want)
		}
	}
	for _, name := range []string{"", "J", "Q", "comment", "not a line", "a", "export O"} {
		if got, ok, err := DotenvFile(file).Value(name); ok || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, want := range map[string]string{"K": "line 13: the quoted value does not end", "L": "line 14: more follows"} {
		ends := strings.Replace(file, `P="x"`, "", 1) // else it has K's other quote
		if _, _, err := DotenvFile(ends).Value(name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzDotenv: any text has an end, and what is written in single quotes is read as it is.
func FuzzDotenv(f *testing.F) {
	f.Add("A=1\nB=\"x", "v")
	f.Fuzz(func(t *testing.T, text, value string) {
		DotenvFile(text).Value("A")
		if strings.ContainsAny(value, "'\r") {
			return
		}
		file := DotenvFile("A=0\nexport X='" + value + "' # c\nB=2\n")
		for name, want := range map[string]string{"A": "0", "X": value, "B": "2"} {
			if got, ok, err := file.Value(name); got != want || !ok || err != nil {
				t.Fatalf("%s: %q, %t, %v", name, got, ok, err)
			}
		}
	})
}

func TestCheckEnvRule(t *testing.T) {
	for name, ok := range map[string]bool{"ACME_API_KEY": true, "LD_PRELOAD": false, "NODE_OPTIONS": false, "PATH": false, "HOME": false, "PYTHONPATH": false, "LC_ALL": false, "ACME_*": false, "*": false} {
		if err := CheckEnvRule(EnvRule{Name: name, Read: true, File: "/x/.env"}); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
		if err := CheckEnvRule(EnvRule{Name: name, Read: true}); err != nil {
			t.Errorf("%s, without a file: %v", name, err)
		}
	}
	if CheckEnvRule(EnvRule{Name: "A", File: "/x"}) == nil {
		t.Error("a denial has a file")
	}
}
