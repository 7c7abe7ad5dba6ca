package session

import (
	"errors"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestIsNew has why a server does not start with proposed lines, and why it does not without them.
func TestIsNew(t *testing.T) {
	gaps := func(all ...confine.Gap) error { return &confine.GapError{Gaps: all} }
	fs, net := confine.Gap{Axis: policy.AxisFs, What: "a", Paths: []string{"/a"}}, confine.Gap{Axis: policy.AxisNet, What: "a", Paths: []string{"/a"}}
	words, paths := fs, fs
	words.What, paths.Paths = "b", []string{"/b"}
	other := errors.New("a mistake")
	// A running mcp-jail finds the same gap for a limit that cannot be held with each number.
	four, eight, memory := confine.Gap{Axis: policy.AxisLimits, What: "processes = 4"}, confine.Gap{Axis: policy.AxisLimits, What: "processes = 8"}, confine.Gap{Axis: policy.AxisLimits, What: "memory_mb = 4"}
	// As an ordinary user's running mcp-jail sees any policy: it cannot ask for namespaces again.
	bare := func(all ...confine.Gap) error {
		return &confine.GapError{Gaps: all, HostNamespaces: confine.Feature{Answer: confine.No}}
	}
	for name, c := range map[string]struct {
		err, before error
		want        bool
	}{
		"it starts":                          {nil, nil, false},
		"it starts with them alone":          {nil, other, false},
		"a mistake":                          {other, nil, true},
		"a mistake before":                   {other, other, false},
		"a gap after a mistake":              {gaps(fs), other, false},
		"a mistake beside what was not held": {other, gaps(fs), true},
		"a gap":                              {gaps(fs), nil, true},
		"the same gap":                       {gaps(fs), gaps(fs), false},
		"fewer gaps":                         {gaps(net), gaps(fs, net), false},
		"one gap more":                       {gaps(fs, net), gaps(fs), true},
		"a gap of another axis":              {gaps(net), gaps(fs), true},
		"a gap with other words":             {gaps(words), gaps(fs), true},
		"a raised limit":                     {gaps(eight), gaps(four), false},
		"another limit":                      {gaps(memory), gaps(four), true},
		"a port that cannot lead in":         {bare(fs, net), bare(fs), false},
		"a gap of files without namespaces":  {bare(fs, paths), bare(fs), true},
		"a gap with other paths":             {gaps(paths), gaps(fs), true},
	} {
		if got := isNew(c.err, c.before); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
