package integration

import (
	"errors"
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestUnmediated: without mediation the kernel decides about files as it does with it, a refused
// call is not recorded, and a profile whose rules need mediation is refused.
func TestUnmediated(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "home/", "outside")
	p := jailtest.Profile(t)
	p.Entries = append(p.Entries, policy.Entry{Path: dir + "/home", Named: "home", Kind: policy.KindDir, Rights: rw, Origin: policy.OriginHome, Rule: "home", Make: true})
	jailtest.SortEntries(p)
	p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("create", dir+"/home/file"), attacker.Try("read", dir+"/outside"), attacker.Try("create", "/usr/made")})...)
	for _, unmediated := range []bool{false, true} {
		os.Remove(dir + "/home/file")
		proc, err := confine.Launcher{Unmediated: unmediated}.Start(t.Context(), p, jail.Stdio{})
		testkit.Must(t, err)
		proc.Wait()
		if _, err := os.Lstat(dir + "/home/file"); err != nil {
			t.Errorf("unmediated %v: %v", unmediated, err)
		}
		if _, err := os.Lstat("/usr/made"); err == nil {
			t.Fatal("it wrote to /usr")
		}
		if recorded := len(proc.Denials()) > 0; recorded == unmediated {
			t.Errorf("unmediated %v: %v", unmediated, proc.Denials())
		}
	}
	granted := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw})
	var gaps *confine.GapError
	if _, err := (confine.Launcher{Unmediated: true}).Start(t.Context(), granted, jail.Stdio{}); !errors.As(err, &gaps) {
		t.Errorf("a profile that needs mediation: %v", err)
	}
}
