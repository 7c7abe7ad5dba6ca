package hostfs

import (
	"slices"
	"testing"
)

// TestSplitList: a colon is a part of each item, and a semicolon in quotation marks is a part of its own.
func TestSplitList(t *testing.T) {
	for list, want := range map[string][]string{
		`C:\a;D:\b c`:    {`C:\a`, `D:\b c`},
		`"C:\a;b";C:\c`:  {`C:\a;b`, `C:\c`},
		`C:\"a;b"\c`:     {`C:\a;b\c`},
		`;C:\a;`:         {"", `C:\a`, ""},
		`C:\a;"C:\b;C:\`: {`C:\a`, `C:\b;C:\`},
		"":               {""},
	} {
		if got := splitWindowsList(list); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", list, got, want)
		}
	}
}
