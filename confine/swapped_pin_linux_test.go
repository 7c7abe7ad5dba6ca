package confine

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestJailSwapsPin: a directory between a grant and what is hidden in it is the one that was
// resolved, though nothing of it but its name is in the plan. Somebody renames it while the
// jail is being built.
func TestJailSwapsPin(t *testing.T) {
	needsJail(t)
	for _, lists := range []bool{false, true} {
		for _, swaps := range []bool{true, false} {
			dir := testkit.Plant(t, "ws/a/secret", "ws/x")
			if err := os.WriteFile(dir+"/ws/a/secret", []byte("SECRET"), 0o644); err != nil {
				t.Fatal(err)
			}
			p := jailProfile(t, grant{dir + "/ws", rw}, grant{dir + "/ws/a/secret", 0})
			swap := swaps // once: what was swapped stays so when the jail is built again
			alter := func(b *jailBuilder, steps []buildStep) (all []buildStep) {
				for _, s := range steps {
					all = append(all, s)
					if s.name == "mounts" && s.by == b.init && swap {
						swap = false
						all = append(all, buildStep{"swap", b.init, func() error {
							if err := b.init.Renameat2(unix.AT_FDCWD, dir+"/ws/a", unix.AT_FDCWD, dir+"/ws/b", 0); err != nil {
								return err
							}
							return b.init.Mkdirat(unix.AT_FDCWD, dir+"/ws/a", 0o755)
						}})
					}
				}
				return all
			}
			got, err := runJail(t, Launcher{testHooks: testHooks{lists: lists, steps: alter}}, p, []attempt{try("read", dir+"/ws/a/secret"), try("read", dir+"/ws/b/secret")})
			if swaps {
				if err == nil || !strings.Contains(err.Error(), errSwapped.Error()) && !errors.Is(err, unix.ENOENT) {
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
