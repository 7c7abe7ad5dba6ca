package integration

import (
	"os"
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// hiddenLater has the host make two paths that did not exist at the start and would be hidden, and
// returns what the server can do with them and with a file beside them.
func hiddenLater(t *testing.T, l confine.Launcher) (got []attacker.Outcome, plan *confine.Plan) {
	t.Helper()
	dir := testkit.Plant(t, "w/beside")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: policy.Read}, jailtest.Grant{Path: dir + "/w", Rights: rw})
	p.Unprotected, p.HiddenLater = []string{dir + "/w/private"}, []string{dir + "/.aws", dir + "/w/private"}
	s := jailtest.BeginBy(t, l, p, attacker.Try("await", dir+"/go"),
		attacker.Try("read", dir+"/.aws/key"), attacker.Try("read", dir+"/w/private"), attacker.Try("write", dir+"/w/private"), attacker.Try("read", dir+"/w/beside"), attacker.Try("list", dir+"/.aws"))
	testkit.PlantBelow(t, dir, ".aws/key", "w/private")
	testkit.Must(t, os.WriteFile(dir+"/go", nil, 0o644))
	s.Finish()
	return jailtest.Outcomes(t, make([]attacker.Attempt, 6), s.Out.Bytes(), ""), s.Plan()
}

// TestJailHiddenLater: with namespaces no mount hides what the host makes later. The plan names it.
func TestJailHiddenLater(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	got, plan := hiddenLater(t, confine.Launcher{})
	if want := []attacker.Outcome{"ok", "ok key", "ok private", "EACCES", "ok beside", "ok key"}; !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if len(plan.ShownLater) != 2 {
		t.Errorf("the plan says that it shows %v", plan.ShownLater)
	}
}

// TestHostNSHiddenLater: without namespaces the supervisor decides about reads, and hides it.
func TestHostNSHiddenLater(t *testing.T) {
	jailtest.NeedsHostNS(t)
	got, plan := hiddenLater(t, jailtest.WaivesGaps)
	if want := []attacker.Outcome{"ok", "EACCES", "EACCES", "EACCES", "ok beside", "EACCES"}; !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if plan.ShownLater != nil {
		t.Errorf("the plan says that it shows %v", plan.ShownLater)
	}
}
