package confine

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

func written(target string) spec.Refusal {
	return spec.Refusal{Axis: policy.AxisFs, Operation: "write", Target: target, Absent: false}
}

func unseen(target string) spec.Refusal {
	return spec.Refusal{Axis: policy.AxisFs, Operation: "create", Target: target, Absent: true}
}

// TestRepeatsAreBounded: how often a server is refused the same thing costs the
// launcher nothing, and the first time and the latest are kept.
func TestRepeatsAreBounded(t *testing.T) {
	var r heldRefusals
	begin := time.Now()
	for n := range 100 {
		for _, target := range []string{"/a", "/b"} {
			r.Add(written(target).Event(1), false, begin.Add(time.Duration(n)))
		}
	}
	got := r.List(begin.Add(time.Hour))
	if len(got) != 2 || got[0].Target != "/a" || got[1].Target != "/b" {
		t.Fatalf("%+v", got)
	}
	if d := got[0]; d.Count != 100 || !d.Time.Equal(begin) || !d.Last.Equal(begin.Add(99)) {
		t.Errorf("%+v", d)
	}
}

// TestRefusalsBeyondRoom: the first ones are kept, and of what has no room, when it
// happened and how often.
func TestRefusalsBeyondRoom(t *testing.T) {
	var r heldRefusals
	begin := time.Now()
	for n := range 3 * spec.MaxRefusals {
		r.Add(written(fmt.Sprint("/", n)).Event(1), false, begin.Add(time.Duration(n)))
	}
	r.Add(spec.Refusal{Axis: "process", Operation: "exec", Target: "/bin/x"}.Event(1), false, begin)
	r.Add(unseen(policy.DenialOthers).Event(5), false, begin)
	got := r.List(begin.Add(time.Hour))
	if len(got) != spec.MaxRefusals+3 || got[spec.MaxRefusals-1].Target != fmt.Sprint("/", spec.MaxRefusals-1) {
		t.Fatalf("%d are kept, the last of them %+v", len(got), got[len(got)-1])
	}
	last := begin.Add(3*spec.MaxRefusals - 1)
	for i, want := range []policy.Denial{
		{Axis: "fs", Operation: "write", Reason: "limit", Count: 2 * spec.MaxRefusals, Last: last},
		{Axis: "process", Operation: "exec", Reason: "limit", Count: 1},
		{Axis: "fs", Operation: "create", Reason: "absent", Count: 5},
	} {
		d := got[spec.MaxRefusals+i]
		if d.Target != policy.DenialOthers || d.Axis != want.Axis || d.Operation != want.Operation || d.Reason != want.Reason || d.Count != want.Count || !d.Last.Equal(want.Last) {
			t.Errorf("%+v, want %+v", d, want)
		}
	}
}

// TestAnnouncedRefusals: until it can have been told, what was announced counts as
// refused just now.
func TestAnnouncedRefusals(t *testing.T) {
	var r heldRefusals
	begin := time.Now()
	m := written("/a").Event(1)
	m.Held = true
	r.Add(m, false, begin)
	for asked, want := range map[time.Duration]time.Duration{time.Millisecond: time.Millisecond, spec.Window: spec.Window, time.Hour: spec.Window} {
		if got := r.List(begin.Add(asked))[0].Last; !got.Equal(begin.Add(want)) {
			t.Errorf("asked after %v: the latest after %v", asked, got.Sub(begin))
		}
	}
	r.Add(written("/a").Event(0), false, begin.Add(spec.Window)) // the page has ended, and there was no more
	if d := r.List(begin.Add(time.Hour))[0]; d.Count != 1 || !d.Last.IsZero() {
		t.Errorf("of one refusal that was not repeated: %+v", d)
	}
}
