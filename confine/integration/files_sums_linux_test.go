package integration

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// TestJailSums: the kernel agrees with the sum of rules, denials and built-in denials.
func TestJailSums(t *testing.T) {
	jailtest.Needs(t)
	testSums(t, jailtest.Attempts)
}

// TestHostNSSums is TestJailSums without namespaces.
func TestHostNSSums(t *testing.T) {
	jailtest.NeedsHostNS(t)
	testSums(t, jailtest.AttemptsHostNS)
}

func testSums(t *testing.T, attempts func(testing.TB, *policy.Profile, ...attacker.Attempt) []attacker.Outcome) {
	tree := []string{
		"home/ws/a", "home/ws/src/code", "home/ws/src/gen/code", "home/ws/tools/exe", "home/ws/secret/key", "home/ws/.env", "home/ws/.vscode/tasks", "home/ws/.git/hooks/pre", "home/ws/.git/HEAD",
		"home/.kube/config", "home/.kube/cache", "home/.aws/credentials", "home/.aws/cli/cache/x", "home/note",
	}
	sets := map[string][]policy.FsRule{
		"nested grants":    {{Path: ".", Read: true}, {Path: "src", Create: true, Update: true, Delete: true}, {Path: "tools", Execute: true}},
		"denials":          {{Path: ".", Read: true, Create: true, Update: true, Delete: true}, {Path: "src", Deny: policy.Write}, {Path: "src/gen", Deny: policy.AllRights}, {Path: "secret", Deny: policy.AllRights}},
		"named":            {{Path: ".", Read: true, Create: true, Update: true, Delete: true}, {Path: ".env", Read: true}, {Path: ".git/hooks", Read: true, Execute: true}, {Path: ".vscode", Read: true}},
		"named in HOME":    {{Path: "~", Read: true, Create: true, Update: true, Delete: true}, {Path: "~/.kube/config", Read: true}, {Path: "~/.aws/cli/cache", Read: true}},
		"named to write":   {{Path: ".", Read: true}, {Path: ".vscode/tasks", Read: true, Update: true}, {Path: ".env", Read: true, Update: true}},
		"only the denials": {{Path: "~/ws", Read: true, Execute: true}, {Path: "tools", Deny: policy.AllRights}, {Path: ".git", Deny: policy.Write}},
	}
	for name, rules := range sets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testkit.Plant(t, tree...)
			host := testkit.Get(hostfs.LocalHost())(t)
			home := dir + "/home"
			host.Dir, host.Home, host.StateDir, host.CacheDir, host.ConfigDir, host.DataDir = home+"/ws", home, dir+"/state", dir+"/cache", dir+"/config", dir+"/data"
			c, err := config.Decode([]byte("[servers.s]\ncommand = '"+jailtest.Binary+"'\nhome = 'real'\naccess.fs = []\n"), "c.toml")
			testkit.Must(t, err)
			of := testkit.Get(c.Policy("s", ""))(t)
			of.Fs = rules
			p, _, err := resolve.Resolve(of, host)
			testkit.Must(t, err)
			p.Argv = []string{attacker.Name}
			// Programs of this machine replace such files while a jail is built, which ends its start.
			p.Entries = slices.DeleteFunc(p.Entries, func(e policy.Entry) bool { return strings.HasPrefix(e.Path, "/etc/") })
			var all []attacker.Attempt
			var want []bool
			for _, file := range tree {
				at := filepath.Join(dir, file)
				for verb, op := range map[string]policy.Op{"read": policy.OpRead, "write": policy.OpWrite} {
					all, want = append(all, attacker.Try(verb, at)), append(want, p.Allows(op, at))
				}
				all, want = append(all, attacker.Try("mkfile", at+".new")), append(want, p.Allows(policy.OpCreate, at+".new"))
			}
			for i, got := range jailtest.Unconfined(t, "/", all...) {
				if got, _, _ := strings.Cut(got, " "); got != attacker.Succeeded {
					t.Errorf("unconfined, %v: %s", all[i], got)
				}
			}
			dirty := 0
			for _, file := range tree { // the control has made them
				jailtest.Unconfined(t, "/", attacker.Try("unlink", filepath.Join(dir, file)+".new"))
			}
			for i, got := range attempts(t, p, all...) {
				if got, _, _ := strings.Cut(got, " "); (got == attacker.Succeeded) != want[i] {
					t.Errorf("%v: %s, and the policy says %v", all[i], got, want[i])
				}
				if want[i] {
					dirty++
				}
			}
			if dirty == 0 || dirty == len(want) {
				t.Errorf("%d of %d are allowed: the test tests little", dirty, len(want))
			}
		})
	}
}
