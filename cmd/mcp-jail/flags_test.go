package main

import (
	"reflect"
	"testing"
)

// TestFlagValuesVerbatim tests that flags keep quotation marks in their values. The
// library removes them unless a tag of the flag forbids it.
func TestFlagValuesVerbatim(t *testing.T) {
	const typed = `"a\n"`
	found := 0
	for _, s := range subcommands() {
		p := s.parser()
		for _, o := range options(p) {
			var want any = typed
			switch o.Value().(type) {
			case []string:
				want = []string{typed}
			case string:
			default:
				continue // the value is no text
			}
			found++
			if _, err := parseArgs(p, []string{"--" + o.LongName, typed}); err != nil || !reflect.DeepEqual(o.Value(), want) {
				t.Errorf("%s --%s %s: %q, %v", s.name, o.LongName, typed, o.Value(), err)
			}
		}
	}
	if found == 0 {
		t.Error("no flag was tried")
	}
}
