package npm

import (
	"slices"
	"strings"
	"testing"
)

func variables(list ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, v := range list {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}

// TestCredentials tests which lines of an .npmrc are credentials.
func TestCredentials(t *testing.T) {
	settings := Settings(`registry=https://a.test/
; a comment
//a.test/:_authToken=${TOKEN}
"//b.test/x/:_auth" = 'dXNlcjpwYTU1LXdvcmQ='
//c.test/:_password=cGE1NS13b3Jk
//c.test/:username=user
//d.test/:_authToken=${UNSET}
//e.test/:_authToken=${UNSET?}
_auth=not*base64
email=a@b
`, variables("TOKEN=t0ken"))
	want := []Credential{{"t0ken", "t0ken"}, {"pa55-word", "dXNlcjpwYTU1LXdvcmQ="}, {"pa55-word", "cGE1NS13b3Jk"}}
	if got := Credentials(settings); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// FuzzExpand tests that a text without a reference stays, and that nothing else panics.
func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"${A}", "${A?}", "$A", "${", "${}", "x${A}${B?}y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := expand(unquote(text), variables("A=value"))
		if !strings.Contains(text, "${") && got != unquote(text) {
			t.Errorf("%q became %q", text, got)
		}
		Credentials(Settings(text, variables("A=value")))
	})
}
