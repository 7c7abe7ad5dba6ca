package command

import (
	"strings"
	"testing"
)

// TestLongPath: a message is cut where it is long, and its advice is at its end. So an error names
// the first directories of a long PATH.
func TestLongPath(t *testing.T) {
	short := &Error{Command: "x", Reason: notFound, Path: []string{"/a", "/b"}, Hint: "advice"}
	if got := short.Error(); got != "x: "+notFound+" in PATH (/a:/b); advice" {
		t.Errorf("%s", got)
	}
	dir := "/" + strings.Repeat("d", 89)
	long := &Error{Command: "x", Reason: notFound, Path: []string{dir, dir, dir, dir}, Hint: "advice"}
	if got := long.Error(); got != "x: "+notFound+" in PATH ("+dir+":"+dir+" and 2 more); advice" {
		t.Errorf("%s", got)
	}
	one := &Error{Command: "x", Reason: notFound, Path: []string{dir + dir + dir, dir}}
	if got := one.Error(); !strings.HasSuffix(got, "("+dir+dir+dir+" and 1 more)") {
		t.Errorf("%s", got)
	}
}
