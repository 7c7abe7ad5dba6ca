package edit

import "testing"

// TestLookupSteps: an element of a path is the name of a member or the number of an element, and
// nothing else that strconv reads.
func TestLookupSteps(t *testing.T) {
	f, err := Parse(JSON, []byte(`{"a": ["x", {"b": 1, "b": 2}], "0": "zero", "*": "star"}`))
	if err != nil {
		t.Fatal(err)
	}
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
	times := 0
	f.visit([]string{"a", "1", "b"}, func(_ []string, _ *node, fault *fault) {
		if times++; fault == nil {
			t.Error("a key that stands twice has no fault")
		}
	})
	if times != 2 {
		t.Errorf("a key that stands twice is visited %d times", times)
	}
}

// BenchmarkLookup is about a table with many members: each is found without a look at the others.
func BenchmarkLookup(b *testing.B) {
	src := []byte(`{"t": {"a": 0`)
	for i := range 50_000 {
		src = append(src, `, "`+string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676))+`": 1`...)
	}
	f, err := Parse(JSON, append(src, "}}"...))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		f.Lookup("t", "abc")
	}
}
