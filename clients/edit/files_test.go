package edit

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// clientFiles returns the files of a format in the table of wrap and unwrap: as they are before, after each
// of them, and with the line ends of Windows.
func clientFiles(t testing.TB, format Format) (all []string) {
	t.Helper()
	names := testkit.Get(filepath.Glob(filepath.Join("..", "testdata", "*", "*")))(t)
	for _, name := range names {
		if FormatOf(name) == format {
			text := testkit.ReadFile(t, name)
			all = append(all, text, byteOrderMark+strings.ReplaceAll(text, "\n", "\r\n"))
		}
	}
	if len(all) < 10 {
		t.Fatalf("there are %d files of %s", len(all), format)
	}
	return all
}

// TestLookupSteps: an element of a path is the name of a member or the number of an element, and
// nothing else that strconv reads.
func TestLookupSteps(t *testing.T) {
	f := testkit.Get(Parse(JSON, []byte(`{"a": ["x", {"b": 1, "b": 2}], "0": "zero", "*": "star"}`)))(t)
	for _, tt := range []struct {
		path []string
		want any
	}{
		{[]string{"a", "0"}, "x"},
		{[]string{"a", "00"}, nil},
		{[]string{"a", "+0"}, nil},
		{[]string{"a", "-1"}, nil},
		{[]string{"a", "2"}, nil},
		{[]string{"a", "b"}, nil},
		{[]string{"0"}, "zero"},
		{[]string{"nothing"}, nil},
	} {
		if got, _, found := f.Lookup(tt.path...); got != tt.want || found != (tt.want != nil) {
			t.Errorf("%q: %v, %t", tt.path, got, found)
		}
	}
}

func TestRefusedErrorText(t *testing.T) {
	f, s := one(t, YAML, "servers:\n  s:\n    command: |\n      x\n", Table{Path: []string{"servers"}})
	_, err := f.Apply(Change{Server: s, Words: wrapper})
	const want = `the server "s" is not changed: line 3: the program is a block scalar, has a tag or an anchor, or goes on in another line; write it in one line, between double quotes`
	if e := (*Fault)(nil); !errors.As(err, &e) || e.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
