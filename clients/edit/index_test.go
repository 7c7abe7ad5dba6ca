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
}
