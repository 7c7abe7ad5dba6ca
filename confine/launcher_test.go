package confine

import (
	"errors"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/confine/internal/probe"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestShortOfDescriptors: if a probe of /proc fails for lack of descriptors, the start fails with
// any gaps waived. The host is not taken for one without /proc.
func TestShortOfDescriptors(t *testing.T) {
	for answer, refused := range map[probe.Answer]bool{probe.Unknown: true, probe.No: false, probe.Yes: false} {
		f := plantest.Kernel()
		f.FreshProc = probe.Feature{Answer: answer, Detail: "too many open files"}
		_, err := Launcher{Waive: policy.Axes()}.compileOn(plantest.Profile(), f)
		var se *step.Error
		if errors.As(err, &se) != refused {
			t.Errorf("%v: %v, want an error: %t", answer, err, refused)
		}
	}
}
