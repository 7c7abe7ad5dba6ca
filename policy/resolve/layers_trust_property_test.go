package resolve

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestTrustShowsGains checks that a server gets nothing from a project's file of which trust does not
// show a loosening.
func TestTrustShowsGains(t *testing.T) {
	dir := t.TempDir()
	h := newFake(aSystem, "f /home/u/proj/a/b/c", "f /home/u/proj/b/x", "f /home/u/other/a/b/c", "l /home/u/proj/link a", "x /usr/bin/git", "x /usr/bin/sh")
	user, none := filepath.Join(dir, "user.toml"), filepath.Join(dir, "none.toml")
	placed := func(p *policy.Policy) config.Placed {
		p = WithoutRefused(p, h.host())
		return config.Placed{Policy: p, Paths: RulePaths(p, h.host())}
	}
	gained := 0
	rapid.Check(t, func(rt *rapid.T) {
		g := layerGenerator{rt}
		rule := func() string {
			return fmt.Sprintf("path = %q", g.one(".", ".", "a", "a", "link", "~/proj/a")) + g.one(", read = true", ", read = true, write = true")
		}
		text := "[servers.s]\ncommand = 'server'\naccess." + g.list("fs", false, rule)
		project := "[servers.s]\naccess." + g.list("fs", true, rule)
		if err := os.WriteFile(user, []byte(text), 0o600); err != nil {
			rt.Fatal(err)
		}
		o := config.LoadOptions{Workspace: dir, System: none, User: user, Trust: none, Project: []byte("version = 1\n")}
		before, err := config.Load(o)
		if err != nil {
			return
		}
		o.Project = []byte(project)
		after, err := config.Load(o)
		if err != nil {
			return
		}
		changes, err := config.Changes(before, after, placed)
		if err != nil || len(changes) != 1 || changes[0].Own {
			return // the project's own server is compared with one that may do nothing
		}
		shown := slices.ContainsFunc(changes[0].Changes, func(c config.Change) bool { return c.Loosens })
		old, _, errBefore := Resolve(policies(before)[""], h.host())
		out, _, errAfter := Resolve(policies(after)[""], h.host())
		if errBefore != nil || errAfter != nil {
			return
		}
		for _, at := range h.paths() {
			for _, op := range []policy.Op{policy.OpRead, policy.OpWrite} {
				if !out.Allows(op, at) || old.Allows(op, at) {
					continue
				}
				gained++
				if !shown {
					rt.Fatalf("%s of %s is new, and trust shows no loosening: %+v\n%s--- project\n%s", op, at, changes, text, project)
				}
			}
		}
	})
	if gained == 0 {
		t.Error("no file gave anything")
	}
}
