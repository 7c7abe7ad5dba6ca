package resolve

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// TestGitConfigUnread checks that configurations that are too large are an error, if something can be written.
func TestGitConfigUnread(t *testing.T) {
	h := newFake(aSystem, "d /home/u/proj/.git")
	h["/home/u/proj/.git/config"] = fakeFile{mode: 0o644, text: strings.Repeat("#", places.MaxGitConfig+1)}
	var failed *gitConfigError
	if _, _, err := resolveFake(t, h, fsRules(".:rw")); !errors.As(err, &failed) {
		t.Errorf("too large: %v", err)
	}
	if _, _, err := resolveFake(t, h, fsRules(".:r")); err != nil {
		t.Errorf("nothing can be written: %v", err)
	}
	many := newFake(aSystem, "f /home/u/proj/.git/HEAD")
	var text strings.Builder
	for i := range 2 * places.MaxGitConfigs {
		fmt.Fprintf(&text, "[include]\npath=c%d\n", i)
		many.add(fmt.Sprintf("f /home/u/proj/.git/c%d", i))
	}
	many["/home/u/proj/.git/config"] = fakeFile{mode: 0o644, text: text.String()}
	if _, _, err := resolveFake(t, many, fsRules(".:rw")); !errors.As(err, &failed) {
		t.Errorf("too many: %v", err)
	}
}
