package jail

import (
	"errors"
	"os"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel/kerneltest"
	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestCreateRulesetIsCompleteOrFails: a rule that cannot be made is an error that names it.
func TestCreateRulesetIsCompleteOrFails(t *testing.T) {
	kerneltest.Needs(t, "landlock")
	open := func(r landlock.Rule) (int, error) { return unix.Open(r.Path, unix.O_PATH|unix.O_CLOEXEC, 0) }
	testkit.Is(t, "nothing handled", testkit.ErrorOf(landlock.Create(&stub.Task{}, &landlock.Ruleset{}, open)), landlock.ErrNothingHandled)
	dir := t.TempDir()
	testkit.Must(t, os.WriteFile(dir+"/file", nil, 0o600))
	for path, want := range map[string]error{dir: nil, dir + "/absent": unix.ENOENT, dir + "/file": unix.EINVAL} {
		rules := landlock.Ruleset{FS: 1<<13 - 1, Rules: []landlock.Rule{{Path: dir, Access: ll.AccessFSReadFile}, {Path: path, Access: ll.AccessFSReadDir}}}
		fd, err := landlock.Create(&stub.Task{}, &rules, open)
		var failed *landlock.RuleError
		if errors.As(err, &failed); want == nil && err != nil || want != nil && (failed == nil || failed.Err != want || failed.Rule.Path != path) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		if unix.Close(fd); want != nil && fd != -1 {
			t.Errorf("%s: a descriptor is left behind", path)
		}
	}
}
