package meaning

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestInstead: a line that starts a container of a known image has another line, with the paths of this
// host. Options with and without values are told apart, so that the image is the right word.
func TestInstead(t *testing.T) {
	for line, want := range testkit.Named[string](t, "images.txt") {
		got := Instead(strings.Fields(line))
		if _, after, is := strings.Cut(got, "write the entry as "); is {
			got = after
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
