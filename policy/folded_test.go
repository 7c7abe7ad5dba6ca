package policy

import (
	"testing"
)

func TestCanonicalSpelling(t *testing.T) {
	p := &Profile{Folded: []FoldedName{{Path: "/w/Sub"}, {Path: "/w/Sub/.env"}, {Path: "/w/ro"}}}
	for name, want := range map[string]string{
		"/w/x": "/w/x", "/": "/", "/w": "/w", "/W/RO": "/w/ro", "/w/RO/New": "/w/ro/New", "/w/roX": "/w/roX", "/w/SUB": "/w/Sub", "/w/sub/.ENV": "/w/Sub/.env",
		"/w/sub/.Env/x": "/w/Sub/.env/x", "/w/SUB/other": "/w/Sub/other", "/w/ro.": "/w/ro",
	} {
		if got := p.CanonicalSpelling(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := (&Profile{}).CanonicalSpelling("/w/RO"); got != "/w/RO" {
		t.Error(got)
	}
}
