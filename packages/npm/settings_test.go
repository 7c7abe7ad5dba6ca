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

// TestSettings tests which lines of an .npmrc are settings, and what their variables become.
func TestSettings(t *testing.T) {
	settings := Settings(`registry=https://a.test/
; a comment
//a.test/:_authToken=${TOKEN}
"//b.test/x/:_auth" = 'dXNlcjpwYTU1LXdvcmQ='
//d.test/:_authToken=${UNSET}
//e.test/:_authToken=${UNSET?}
_auth=not*base64
email=a@b
`, variables("TOKEN=t0ken"))
	want := []Setting{
		{"registry", "https://a.test/"},
		{"//a.test/:_authToken", "t0ken"},
		{"//b.test/x/:_auth", "dXNlcjpwYTU1LXdvcmQ="},
		{"//d.test/:_authToken", "${UNSET}"},
		{"//e.test/:_authToken", ""},
		{"_auth", "not*base64"},
		{"email", "a@b"},
	}
	if !slices.Equal(settings, want) {
		t.Errorf("%q", settings)
	}
}
