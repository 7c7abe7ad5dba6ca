package confine

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

func written(target string) sighting { return sighting{policy.AxisFs, "write", target, false} }

func unseen(target string) sighting { return sighting{policy.AxisFs, "create", target, true} }

// TestRepeatsAreBounded: how often a server is refused the same thing costs the
// launcher nothing, and the first time and the latest are kept.
func TestRepeatsAreBounded(t *testing.T) {
	var r refusals
	begin := time.Now()
	for n := range 100 {
		for _, target := range []string{"/a", "/b"} {
			r.add(written(target).message(1), begin.Add(time.Duration(n)))
		}
	}
	got := r.list(begin.Add(time.Hour))
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
	var r refusals
	begin := time.Now()
	for n := range 3 * maxRefusals {
		r.add(written(fmt.Sprint("/", n)).message(1), begin.Add(time.Duration(n)))
	}
	r.add(sighting{axis: "process", operation: "exec", target: "/bin/x"}.message(1), begin)
	r.add(unseen(others).message(5), begin)
	got := r.list(begin.Add(time.Hour))
	if len(got) != maxRefusals+3 || got[maxRefusals-1].Target != fmt.Sprint("/", maxRefusals-1) {
		t.Fatalf("%d are kept, the last of them %+v", len(got), got[len(got)-1])
	}
	last := begin.Add(3*maxRefusals - 1)
	for i, want := range []Denial{
		{Axis: "fs", Operation: "write", Reason: "limit", Count: 2 * maxRefusals, Last: last},
		{Axis: "process", Operation: "exec", Reason: "limit", Count: 1},
		{Axis: "fs", Operation: "create", Reason: "absent", Count: 5},
	} {
		d := got[maxRefusals+i]
		if d.Target != others || d.Axis != want.Axis || d.Operation != want.Operation || d.Reason != want.Reason || d.Count != want.Count || !d.Last.Equal(want.Last) {
			t.Errorf("%+v, want %+v", d, want)
		}
	}
}

// TestAnnouncedRefusals: until it can have been told, what was announced counts as
// refused just now.
func TestAnnouncedRefusals(t *testing.T) {
	var r refusals
	begin := time.Now()
	m := written("/a").message(1)
	m.held = true
	r.add(m, begin)
	for asked, want := range map[time.Duration]time.Duration{time.Millisecond: time.Millisecond, pageTime: pageTime, time.Hour: pageTime} {
		if got := r.list(begin.Add(asked))[0].Last; !got.Equal(begin.Add(want)) {
			t.Errorf("asked after %v: the latest after %v", asked, got.Sub(begin))
		}
	}
	r.add(written("/a").message(0), begin.Add(pageTime)) // the page has ended, and there was no more
	if d := r.list(begin.Add(time.Hour))[0]; d.Count != 1 || !d.Last.IsZero() {
		t.Errorf("of one refusal that was not repeated: %+v", d)
	}
}
