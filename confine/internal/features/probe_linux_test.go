package features

import (
	"testing"
)

func TestCacheKeepsOnlyCertainAnswers(t *testing.T) {
	var m featureCache
	answers := []Feature{Undetermined("busy"), Unavailable("x", "y"), Available("")}
	asked := 0
	probe := func() Feature { asked++; return answers[asked-1] }
	for i, want := range []Answer{Unknown, No, No, No} {
		if got := m.Get("f", probe).Answer; got != want {
			t.Errorf("question %d: %v, want %v", i, got, want)
		}
	}
	if asked != 2 {
		t.Errorf("the probe ran %d times, want 2", asked)
	}
}
