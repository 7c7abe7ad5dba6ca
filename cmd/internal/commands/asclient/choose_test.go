package asclient

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestOfProject checks which of the entries of one name counts in a project.
func TestOfProject(t *testing.T) {
	for name, tt := range map[string]struct {
		entries [][2]string // file, project
		want    int         // -1 for none
	}{
		"here and for all":       {[][2]string{{"a", ""}, {"a", "/here"}}, 1},
		"here and elsewhere":     {[][2]string{{"a", "/here"}, {"a", "/there"}}, 0},
		"two others":             {[][2]string{{"a", "/there"}, {"a", "/far"}}, -1},
		"another file has one":   {[][2]string{{"a", ""}, {"a", "/here"}, {"b", ""}}, -1},
		"another file, the same": {[][2]string{{"b", ""}, {"a", "/here"}}, -1},
	} {
		var all []found
		for _, e := range tt.entries {
			f := found{file: &wrapping.File{}}
			f.file.Path, f.entry.For = e[0], e[1]
			all = append(all, f)
		}
		one, ok := ofProject(hostfs.Host{Dir: "/here"}, all)
		if ok != (tt.want >= 0) || ok && one.file != all[tt.want].file {
			t.Errorf("%s: %+v, %v", name, one.entry.For, ok)
		}
	}
}
