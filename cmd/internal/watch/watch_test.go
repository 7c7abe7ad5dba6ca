package watch

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestWholeWrites: in a lesson with open reads, a rule that grants a part of writing writes to a copy, in full.
// Other rules stay as they are, and so does the list that was given.
func TestWholeWrites(t *testing.T) {
	given := []policy.FsRule{
		{Path: "part", Read: true, Create: true, Update: true},
		{Path: "all", Read: true, Create: true, Update: true, Delete: true},
		{Path: "read", Read: true},
		{Path: "denied"},
		{Path: "unread", Create: true, Update: true, Delete: true},
	}
	got := wholeWrites(given)
	if len(got) != len(given)-1 || given[len(given)-1].Path != "unread" {
		t.Fatalf("%+v", got)
	}
	want := policy.FsRule{Path: "part", Read: true, Create: true, Update: true, Delete: true, Discard: true}
	if got[0] != want {
		t.Errorf("%+v", got[0])
	}
	for i := 1; i < len(got); i++ {
		if got[i] != given[i] {
			t.Errorf("%+v", got[i])
		}
	}
	if given[0].Discard || given[0].Delete {
		t.Error("the given rules have changed")
	}
}
