package session

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// TestLeakSearcher: without a secret no searcher is made.
func TestLeakSearcher(t *testing.T) {
	const leaked = "s3cr3t/Value+42-of-a-test"
	l := newLeakCheck(&Client{Config: Session{Profile: &policy.Profile{Leaks: policy.LeaksWarn}}})
	of := func(env ...policy.Variable) *leak.Searcher { return l.For(&policy.Profile{Env: env}).Current() }
	if of(policy.Variable{Name: "A_TOKEN", Value: "true", Secret: true}, policy.Variable{Name: "OPEN", Value: leaked}) != nil {
		t.Error("there is a searcher without a secret")
	}
	if of(policy.Variable{Name: "B_TOKEN", Value: leaked, Secret: true}) == nil {
		t.Error("there is no searcher")
	}
}

// TestLeakSearcherOfProfiles: profiles with the same secrets share a searcher, however many a session has. One with
// another secret has its own.
func TestLeakSearcherOfProfiles(t *testing.T) {
	l := newLeakCheck(&Client{Config: Session{Profile: &policy.Profile{Leaks: policy.LeaksWarn}}})
	of := func(secret, other string) *leak.Searcher {
		return l.For(&policy.Profile{Env: []policy.Variable{{Name: "A_TOKEN", Value: secret, Secret: true}, {Name: policy.StatementVar, Value: other}}}).Current()
	}
	first := of("s3cr3t/Value+42-of-a-test", "one")
	if of("s3cr3t/Value+42-of-a-test", "two") != first {
		t.Error("a profile with the same secret has a searcher of its own")
	}
	if of("An0ther/Value+42-of-a-test", "one") == first {
		t.Error("a profile with another secret has the same searcher")
	}
}
