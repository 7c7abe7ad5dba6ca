package confine

import "testing"

func TestFeatureMemoryKeepsOnlyWhatIsCertain(t *testing.T) {
	var m featureMemory
	answers := []Feature{undetermined("busy"), unavailable("x", "y"), available("")}
	asked := 0
	probe := func() Feature { asked++; return answers[asked-1] }
	for i, want := range []Answer{Unknown, No, No, No} {
		if got := m.get("f", probe).Answer; got != want {
			t.Errorf("question %d: %v, want %v", i, got, want)
		}
	}
	if asked != 2 {
		t.Errorf("the probe ran %d times, want 2", asked)
	}
}
