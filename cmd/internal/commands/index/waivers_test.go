package index

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestNamed: each axis must be named, and a word that names none is an error.
func TestNamed(t *testing.T) {
	for words, want := range map[string]string{
		"fs": "fs", "limits,fs": "fs limits", "net fs": "fs net", "fs|net , limits": "fs net limits", "fs,fs": "fs", "": "", "macos": "macos", "windows macos,fs": "fs macos windows",
		"all": "error", "FS": "error", "fs,files": "error", "fs;net": "error",
	} {
		got, err := NamedAxes(strings.Split(words, "|"))
		if want == "error" != (err != nil) || err == nil && !slices.Equal(got, policy.OrderWaivers(axesOf(want))) {
			t.Errorf("%q names %q (%v), want %q", words, got, err, want)
		}
	}
}

// TestNeed: a gap that nothing can accept is on no axis that may be waived, and two policies of one
// server need what either needs.
func TestNeed(t *testing.T) {
	fs, limits := confine.Gap{Axis: policy.AxisFs, What: "a"}, confine.Gap{Axis: policy.AxisLimits, What: "b"}
	fatal := confine.Gap{Axis: policy.AxisNet, What: "c", Fatal: true}
	refused := confine.Feature{Answer: confine.No, Detail: "refused"}
	need := GapNeed{Gaps: []confine.Gap{limits, fatal}}
	for _, both := range []GapNeed{need.add(GapNeed{Gaps: []confine.Gap{fs, limits}, Namespaces: refused}), (GapNeed{Gaps: []confine.Gap{fs, limits}, Namespaces: refused}).add(need)} {
		if got := both.Waivers(nil); !slices.Equal(got, policy.OrderWaivers([]policy.Axis{policy.AxisFs, policy.AxisLimits})) || len(both.Gaps) != 3 {
			t.Errorf("%q of %v", got, both.Gaps)
		}
		if got := both.Fatal(); got == nil || got.What != fatal.What || both.Namespaces != refused {
			t.Errorf("the fatal gap is %v, and namespaces are %v", got, both.Namespaces)
		}
	}
	if len(need.Gaps) != 2 || need.Namespaces.Answer == confine.No || (GapNeed{}).Fatal() != nil {
		t.Errorf("%v was changed", need)
	}
}

// TestWaiversOfSystems: an entry needs the word of a system for the gaps of that system, unless their axes are
// accepted or the configuration accepts them for all servers. No host takes the word out.
func TestWaiversOfSystems(t *testing.T) {
	gap := func(axis, system policy.Axis) confine.Gap {
		return confine.Gap{Axis: axis, What: string(axis), Platform: system}
	}
	mac := GapNeed{Gaps: []confine.Gap{gap("fs", "macos"), gap("limits", "macos"), gap("net", "")}}
	for _, c := range testkit.Table[struct{ has, accepted, needs, drops string }](t, "waivers.txt") {
		mac.Accepted = axesOf(c.accepted)
		needs := mac.Waivers(axesOf(c.has))
		if drops := NotNeeded(axesOf(c.has), needs); AxisNames(needs, " ") != c.needs || AxisNames(drops, " ") != c.drops {
			t.Errorf("an entry that waives %q needs %q and drops %q", c.has, needs, drops)
		}
	}
	if drops := NotNeeded(axesOf("macos windows fs"), nil); AxisNames(drops, " ") != "fs" {
		t.Errorf("Linux takes out %q", drops)
	}
}

func axesOf(words string) (axes []policy.Axis) {
	for _, word := range strings.Fields(words) {
		axes = append(axes, policy.Axis(word))
	}
	return axes
}
