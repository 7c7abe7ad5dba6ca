package main

import (
	"reflect"
	"testing"
)

// The library takes quotation marks from a value, unless each flag forbids it: what
// is granted is what was typed.
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
				continue // read as something else than text
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
