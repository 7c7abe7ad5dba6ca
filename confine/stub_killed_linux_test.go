package confine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStubIsKilled: a jail whose builder was ended in the middle is built once more, and
// where that happens again the error says at which step, and by whom it can have been.
func TestStubIsKilled(t *testing.T) {
	needsJail(t)
	for _, always := range []bool{false, true} {
		struck := 0
		strike := func(b *jailBuilder, steps []buildStep) []buildStep {
			if steps[len(steps)-1].name != stepSupervision || b.stub.IsCareful() && !always {
				return steps
			}
			return append(slices.Clone(steps), buildStep{"struck", b.outer, func() error {
				struck++
				if err := unix.Kill(b.process.PID(), unix.SIGKILL); err != nil {
					return err
				}
				return b.outer.Chdir("/")
			}})
		}
		dir := plant(t)
		before := lookAtHost(t, dir)
		got, err := runJail(t, Launcher{altered: alteration{lists: true, steps: strike}}, jailProfile(t), []attempt{try("cwd")})
		var se *StartError
		switch {
		case !always && (err != nil || struck != 1):
			t.Errorf("once: %v, struck %d times", err, struck)
		case !always:
			expect(t, "once", got[0], "ok /")
		case !errors.As(err, &se) || se.Step != "struck" || !strings.Contains(se.Detail, "SIGKILL") || struck != 2:
			t.Errorf("always: %v, %v, struck %d times", got, err, struck)
		}
		before.same(t)
	}
}
