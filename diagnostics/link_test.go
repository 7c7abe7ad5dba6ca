package diagnostics

import (
	"strings"
	"testing"
)

// TestLinkByItsName: a file of the working directory that is named without a slash is no
// program, and a link leads where it leads.
func TestLinkByItsName(t *testing.T) {
	for target, want := range map[string]struct {
		attribution Attribution
		target      string
	}{
		"/home/u/notes/a.md":     {Likely, "/home/u/notes/a.md"},
		"/home/u/work/out.txt":   {None, ""}, // it is granted
		"/home/u/nowhere/at/all": {None, ""}, // nor is it on the host
	} {
		ev := evidence("FileNotFoundError: [Errno 2] No such file or directory: 'key'")
		exists := ev.Exists
		ev.Exists = func(path string) bool { return path == "/home/u/work/key" || exists(path) }
		ev.Canonical = func(path string) string {
			if path == "/home/u/work/key" {
				return target
			}
			return path
		}
		d := Diagnose(ev)
		got := ""
		if len(d.Hints) > 0 {
			got = d.Hints[0].Target
		}
		if d.Attribution != want.attribution || got != want.target {
			t.Errorf("%s: %s %q, want %+v: %s", target, d.Attribution, got, want, d.Cause)
		}
	}
}

// TestLinkByABareWord: cat names a link of the working directory without quotes, dot or
// slash. The words say where it leads; a word that is no link is one of the sentence.
func TestLinkByABareWord(t *testing.T) {
	for text, fault := range map[string]string{
		"cat: key: Permission denied":         "",
		"cat: key: No such file or directory": "",
		"cat: out: Permission denied":         "no link",
	} {
		ev := evidence(text)
		exists := ev.Exists
		ev.Exists = func(path string) bool {
			return path == "/home/u/work/key" || path == "/home/u/work/out" || exists(path)
		}
		ev.Canonical = func(path string) string {
			if path == "/home/u/work/key" {
				return "/home/u/work/.env"
			}
			return path
		}
		d := Diagnose(ev)
		blamed := len(d.Hints) > 0 && d.Hints[0].Target == "/home/u/work/.env" && strings.Contains(d.Cause, `"key" leads there`)
		if blamed != (fault == "") || len(d.Flags)+len(d.Grant) > 0 {
			t.Errorf("%s: %s %q %q", text, d.Attribution, d.Cause, d.Grant)
		}
	}
}
