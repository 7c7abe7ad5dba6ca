package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// TestJailSwapsDuringResolution: one process of a server swaps a directory and a symlink while
// the policy of another is resolved and its jail is built. The target of the symlink is never
// granted.
func TestJailSwapsDuringResolution(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "ws/notes/sub/inner", "ws/notes/top", "secret/sub/inner", "secret/top", "home/")
	for _, name := range []string{"secret/sub/inner", "secret/top"} {
		testkit.Must(t, os.WriteFile(filepath.Join(dir, name), []byte("SECRET"), 0o644))
	}
	host := testkit.Get(hostfs.LocalHost())(t)
	host.Dir, host.Home, host.StateDir, host.CacheDir, host.ConfigDir = dir+"/ws", dir+"/home", dir+"/home/state", dir+"/home/cache", dir+"/home/config"
	cfg, err := config.Decode(fmt.Appendf(nil, `[servers.s]
command = %q
stateful = false
[[servers.s.tools.a.access.fs]]
path = "notes/sub"
read = true
[[servers.s.tools.a.access.fs]]
path = %q
read = true
`, jailtest.Binary, dir+"/ws/notes"), "c.toml")
	testkit.Must(t, err)
	rules := testkit.Get(cfg.Policy("s", "a"))(t)
	stop := meanwhile(func() { swap(dir+"/ws/notes", dir+"/secret") })
	var ran, unresolved, refused int
	rounds := jailtest.Rounds(30, 60)
	// On a busy machine it takes more rounds until a swap falls into one.
	for round := 0; round < rounds || (ran == 0 || unresolved == 0) && round < 50*rounds; round++ {
		p, _, err := resolve.Resolve(rules, host)
		if err != nil {
			unresolved++
			continue
		}
		p.Argv = []string{attacker.Name}
		out, err := jailtest.Run(t, confine.Launcher{}, p, []attacker.Attempt{attacker.Try("read", dir+"/ws/notes/sub/inner"), attacker.Try("read", dir+"/ws/notes/top")})
		var se *sys.Error
		switch {
		case errors.As(err, &se):
			refused++
		case err != nil:
			t.Error(err)
		default:
			ran++
			if strings.Contains(fmt.Sprint(out), "SECRET") {
				t.Errorf("%v", out)
			}
		}
	}
	stop()
	t.Logf("%d ran, %d were not resolved, %d not built", ran, unresolved, refused)
	if ran == 0 || unresolved == 0 {
		t.Errorf("%d ran, %d were not resolved, %d not built: the test tests little", ran, unresolved, refused)
	}
}
