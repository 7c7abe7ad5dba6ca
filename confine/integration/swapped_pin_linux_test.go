package integration

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/rootfs"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestJailSwapsPin: a directory between a grant and what is hidden in it is the one that was
// resolved, though nothing of it but its name is in the plan. Somebody renames it while the
// jail is being built.
func TestJailSwapsPin(t *testing.T) {
	jailtest.Needs(t)
	for _, lists := range []bool{false, true} {
		for _, swaps := range []bool{true, false} {
			dir := testkit.Plant(t, "ws/a/secret", "ws/x")
			if err := os.WriteFile(dir+"/ws/a/secret", []byte("SECRET"), 0o644); err != nil {
				t.Fatal(err)
			}
			p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: rw}, jailtest.Grant{Path: dir + "/ws/a/secret", Rights: 0})
			swap := swaps // once: what was swapped stays so when the jail is built again
			alter := func(b *jail.JailBuilder, steps []jail.BuildStep) (all []jail.BuildStep) {
				for _, s := range steps {
					all = append(all, s)
					if s.Name == "mounts" && s.By == b.Init && swap {
						swap = false
						all = append(all, jail.BuildStep{Name: "swap", By: b.Init, Run: func() error {
							if err := b.Init.Renameat2(unix.AT_FDCWD, dir+"/ws/a", unix.AT_FDCWD, dir+"/ws/b", 0); err != nil {
								return err
							}
							return b.Init.Mkdirat(unix.AT_FDCWD, dir+"/ws/a", 0o755)
						}})
					}
				}
				return all
			}
			got, err := jailtest.Run(t, confine.Launcher{TestHooks: jail.TestHooks{Lists: lists, Steps: alter}}, p, []attacker.Attempt{attacker.Try("read", dir+"/ws/a/secret"), attacker.Try("read", dir+"/ws/b/secret")})
			if swaps {
				if err == nil || !strings.Contains(err.Error(), rootfs.ErrSwapped.Error()) && !errors.Is(err, unix.ENOENT) {
					t.Errorf("by lists %t: %v, %v, want no start", lists, got, err)
				}
				continue
			}
			if err != nil || strings.HasPrefix(got[0], "ok") || strings.HasPrefix(got[1], "ok") {
				t.Errorf("by lists %t, with nothing swapped: %v, %v", lists, got, err)
			}
		}
	}
}
