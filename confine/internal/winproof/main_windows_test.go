package winproof

import (
	"context"
	"os"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/mcp-jail/mcp-jail/confine/internal/selftest"
)

func TestMain(m *testing.M) {
	Serve() // an attempt of the self-test
	os.Exit(m.Run())
}

// TestProve makes the self-test of this machine. On Windows all of it passes. Wine enforces no limits, no
// token and no mitigations, and the self-test must find just that, each by its attempt and not for lack of
// a control.
func TestProve(t *testing.T) {
	result, err := Prove(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]selftest.Verdict{}
	for _, p := range Table() {
		want[p.ID] = selftest.Passed
	}
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
		for _, id := range []string{"W3", "W5", "W6", "W7", "W9"} {
			want[id] = selftest.Failed
		}
	}
	for _, row := range result.Rows {
		if t.Logf("%s %s: %s, control %s: %s", row.ID, row.Try, row.Got, row.Control, row.Verdict); row.Verdict != want[row.ID] {
			t.Errorf("%s: want %s", row.ID, want[row.ID])
		}
	}
	if result.Proof.Without != nil {
		t.Logf("without %q", result.Proof.Without)
	}
}
