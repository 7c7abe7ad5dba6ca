package policy

import (
	"strings"
	"testing"
)

func TestListItems(t *testing.T) {
	for word, want := range map[string]string{
		"/a/x.jar:/b/y.jar":       "/a/x.jar /b/y.jar",
		"build:lib/x.jar":         "build:lib/x.jar", // "build" may be anything
		"./build:lib/x.jar":       "./build lib/x.jar",
		"/a/lib/*":                "/a/lib",
		"/a/lib/*:/b/y.jar:":      "/a/lib /b/y.jar",
		"/a,~/b":                  "/a ~/b",
		"/a,ro":                   "/a,ro",
		"http://h:80/x":           "http://h:80/x",
		"http://h:80/x,https://i": "http://h:80/x https://i",
		"/a/**":                   "/a/**",
		"/a/*.txt":                "/a/*.txt",
		"x":                       "x",
		"":                        "",
	} {
		if got := strings.Join(ListItems("linux", word), " "); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
	if got := strings.Join(ListItems("windows", `C:\a\*;D:\b`), " "); got != `C:\a D:\b` {
		t.Error(got)
	}
}
