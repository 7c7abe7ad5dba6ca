package session

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// TestLeakFinder: without a secret no finder is made.
func TestLeakFinder(t *testing.T) {
	const leaked = "s3cr3t/Value+42-of-a-test"
	l := newLeakCheck(&Client{Config: Session{Profile: &policy.Profile{Leaks: policy.LeaksWarn}}})
	of := func(env ...policy.Variable) *leak.Finder { return l.For(&policy.Profile{Env: env}).Current() }
	if of(policy.Variable{Name: "A_TOKEN", Value: "true", Secret: true}, policy.Variable{Name: "OPEN", Value: leaked}) != nil {
		t.Error("there is a finder without a secret")
	}
	if of(policy.Variable{Name: "B_TOKEN", Value: leaked, Secret: true}) == nil {
		t.Error("there is no finder")
	}
}
