package session

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// TestLeakCheckOfProfiles: profiles with the same secrets share a searcher, however many a session has.
// One with another secret has its own, and one without any has none.
func TestLeakCheckOfProfiles(t *testing.T) {
	l := newLeakCheck(&Client{Config: Session{Profile: &policy.Profile{Leaks: policy.LeaksWarn}}})
	of := func(secret, other string) *leak.Searcher {
		return l.For(&policy.Profile{Env: []policy.Variable{{Name: "A_TOKEN", Value: secret, Secret: true}, {Name: policy.StatementVar, Value: other}}}).current()
	}
	const value = "s3cr3t/Value+42-of-a-test"
	first := of(value, "one")
	if first == nil || of(value, "two") != first {
		t.Error("a profile with the same secret has a searcher of its own")
	}
	if of("An0ther/Value+42-of-a-test", "one") == first {
		t.Error("a profile with another secret has the same searcher")
	}
	if of("true", value) != nil {
		t.Error("there is a searcher without a secret")
	}
}
