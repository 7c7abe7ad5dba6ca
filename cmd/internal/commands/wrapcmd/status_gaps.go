package wrapcmd

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/gaps"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// A waivedAxis is an axis of which an entry accepts the gaps. It is open while this host has such a gap.
type waivedAxis struct {
	Axis policy.Axis `json:"axis"`
	Open bool        `json:"open"`
}

// addGaps adds what an entry that starts in mcp-jail accepts, and what this host cannot enforce besides.
// For an entry without a waiver, the host is asked only where each may need one: on macOS, and where user
// namespaces are refused.
func (s *serverStatus) addGaps(own *config.ServerFile, finder *gaps.Finder, namespaces confine.Feature, f *wrapping.File, e wrapping.Entry, v wrapping.Verdict) {
	has := gaps.Has(own, v.Line)
	if v.Line.Argv == nil || has == nil && namespaces.Answer != confine.No && finder.System() != "darwin" {
		return
	}
	need, certain := finder.Of(f, e, v.Line.Flags, v.Line.Argv)
	s.setGaps(has, need, certain && need.Fatal() == nil)
}

func (s *serverStatus) setGaps(has []policy.Axis, need gaps.Need, certain bool) {
	needs := need.Waivers(has)
	for _, a := range has {
		if open := !certain || slices.Contains(needs, a); open || !a.IsPlatform() { // else it is for another system
			s.Waived = append(s.Waived, waivedAxis{a, open})
		}
	}
	if certain {
		s.Gaps = gaps.Without(needs, has)
	}
}

// waiverNotes returns notes about what servers accept, and why some do not start. Servers of which the
// same is said share a note.
func waiverNotes(servers []serverStatus) (notes []string) {
	var order []string
	names := map[string][]string{}
	add := func(s serverStatus, before string, axes []policy.Axis, after string) {
		if len(axes) == 0 {
			return
		}
		text := before + gaps.Names(axes, ", ") + after
		if axes[0].IsPlatform() {
			text = before + gaps.Phrase(axes) + after
		}
		if names[text] == nil {
			order = append(order, text)
		}
		names[text] = append(names[text], show.Name(s.Name))
	}
	for _, s := range servers {
		var open, closed []policy.Axis
		for _, w := range s.Waived {
			if w.Open {
				open = append(open, w.Axis)
			} else {
				closed = append(closed, w.Axis)
			}
		}
		open, systems := gaps.OfSystems(open)
		lacks, lacking := gaps.OfSystems(s.Gaps)
		add(s, ": gaps are accepted (--waive) that this host has on ", open, "")
		add(s, ": accepted (--waive) is ", systems, "")
		add(s, ": --waive ", closed, " is not needed any more: `mcp-jail wrap` takes it out")
		add(s, " cannot start: this host cannot enforce all of ", lacks, ": `mcp-jail wrap` asks about it")
		add(s, " cannot start until this is accepted: ", lacking, ": `mcp-jail wrap` asks about it")
	}
	for _, text := range order {
		notes = append(notes, strings.Join(names[text], ", ")+text)
	}
	return notes
}
