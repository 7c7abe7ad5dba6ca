package confine

import (
	"errors"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestShortOfDescriptors: if a probe of /proc fails for lack of descriptors, the start fails with
// any gaps waived. The host is not taken for one without /proc.
func TestShortOfDescriptors(t *testing.T) {
	for answer, refused := range map[features.Answer]bool{features.Unknown: true, features.No: false, features.Yes: false} {
		f := plantest.Kernel()
		f.FreshProc = features.Feature{Answer: answer, Detail: "too many open files"}
		_, err := Launcher{Waive: policy.Axes()}.compileOn(plantest.Profile(), f)
		var se *step.Error
		if errors.As(err, &se) != refused {
			t.Errorf("%v: %v, want an error: %t", answer, err, refused)
		}
	}
}
