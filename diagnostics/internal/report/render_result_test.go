package report

import (
	"strings"
	"testing"
)

// TestResultFullStop tests that no full stop follows a fix that ends with ".": "--write .." would
// mean the directory above.
func TestResultFullStop(t *testing.T) {
	for fix, want := range map[string]string{"start it with --write .": "start it with --write .\n", "start it with --write x": "start it with --write x.\n"} {
		if got := (Diagnosis{Attribution: Certain, Cause: "c", Fix: fix, Explain: PageEnv}).resultText(); !strings.Contains(got, "The user can change this: "+want) {
			t.Errorf("%s: %s", fix, got)
		}
	}
}
