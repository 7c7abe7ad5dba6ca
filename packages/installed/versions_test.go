package installed

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/jail"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestSlowInterpreter tests that an interpreter which does not tell its version in time is not asked
// at each start, but when an hour has gone by, when its file changes, and when it only failed. No more
// are asked after those that took too long.
func TestSlowInterpreter(t *testing.T) {
	host := &hostfs.Host{CacheDir: t.TempDir(), Lstat: func(string) (hostfs.FileInfo, error) { return hostfs.FileInfo{}, nil }}
	file := filepath.Join(t.TempDir(), "node")
	change := func(text string) {
		testkit.Must(t, os.WriteFile(file, []byte(text), 0o700))
	}
	change("#!")
	asked, answer := 0, error(&jail.SlowError{File: file})
	ask := func(edit func(*versions)) error {
		v := openVersions(host, nil)
		v.run = func(context.Context, *hostfs.Host, []policy.Axis, string) (string, error) {
			asked++
			return "v20.1.0", answer
		}
		edit(v)
		defer v.save()
		_, err := v.ask(t.Context(), file)
		return err
	}
	for _, c := range []struct {
		what    string
		change  func()
		edit    func(*versions)
		asked   bool
		answers bool
	}{
		{what: "at first", asked: true},
		{what: "again"},
		{what: "an hour later", edit: func(v *versions) { k := v.known[file]; k.Slow = k.Slow.Add(-time.Hour); v.known[file] = k }, asked: true},
		{what: "a clock that was set back", edit: func(v *versions) { k := v.known[file]; k.Slow = k.Slow.Add(2 * time.Hour); v.known[file] = k }, asked: true},
		{what: "changed", change: func() { change("#! another") }, asked: true},
		{what: "too late", change: func() { change("#! third") }, edit: func(v *versions) { v.spent = maxSpent }},
		{what: "not too late", edit: func(v *versions) { v.spent = maxSpent - 1 }, asked: true},
		{what: "failed", change: func() { change("#! fourth"); answer = errors.New("exit status 1") }, asked: true},
		{what: "failed again", asked: true},
		{what: "answered", change: func() { answer = nil }, asked: true, answers: true},
		{what: "remembered", answers: true},
	} {
		if c.change != nil {
			c.change()
		}
		if c.edit == nil {
			c.edit = func(*versions) {}
		}
		asked = 0
		if err := ask(c.edit); (asked == 1) != c.asked || (err == nil) != c.answers {
			t.Errorf("%s: asked %d times, %v", c.what, asked, err)
		}
	}
}
