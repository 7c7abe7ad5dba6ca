package hostfs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestGlob(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"b/chrome-99/chrome", "b/chrome-100/chrome", "b/chrome-7"} {
		testkit.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o755))
		testkit.Must(t, os.WriteFile(filepath.Join(home, name), nil, 0o644))
	}
	testkit.Must(t, os.Symlink("chrome-99", filepath.Join(home, "b/chrome-1")))
	for _, c := range []struct {
		home, pattern string
		want          []string
	}{
		{home, "~/b/chrome-[0-9]*", []string{"~/b/chrome-1", "~/b/chrome-7", "~/b/chrome-99", "~/b/chrome-100"}},
		{home, "~/b/chrome-[0-9]*/", []string{"~/b/chrome-99", "~/b/chrome-100"}},
		{home, "~/b/chrome-[0-9][0-9]*/chrome", []string{"~/b/chrome-99/chrome", "~/b/chrome-100/chrome"}},
		{home, home + "/b/chrome-7", []string{home + "/b/chrome-7"}},
		{home, "~/b/none", nil},
		{home, "~/b/[", nil},
		{"", "~/", nil},
	} {
		if got := Glob(c.home)(c.pattern); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.pattern, got, c.want)
		}
	}
}
