package policy

import (
	"math/rand"
	"slices"
	"testing"
)

// TestUnseenRequests checks that where no request must be intercepted, every request
// gets the decision of its connection and none carries a secret.
func TestUnseenRequests(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	pick := func(s ...string) string { return s[r.Intn(len(s))] }
	requests := [][2]string{}
	for _, path := range []string{"/", "/x", "/x/y", "/z", "/x/../z", "*"} {
		for _, method := range []string{"GET", "PUT", "OPTIONS"} {
			requests = append(requests, [2]string{path, method})
		}
	}
	unseen := 0
	for range 20000 {
		rules := make([]NetRule, 1+r.Intn(4))
		for i := range rules {
			rules[i] = NetRule{Host: pick("a.b", "a.b", "*.b", "*"), Scheme: pick("", "", "https", "http"), PathPrefix: pick("", "", "/", "/x", "/x/y"), Allow: r.Intn(3) > 0}
			if r.Intn(4) == 0 {
				rules[i].Methods = []string{pick("GET", "PUT")}
			}
			if r.Intn(4) == 0 {
				rules[i].Port = 443
			}
			if r.Intn(6) == 0 && rules[i].Allow {
				rules[i].Secrets = []Secret{{Env: "T"}}
			}
		}
		if AnyNeedsInterception(rules, "a.b", "https", 443) {
			continue
		}
		unseen++
		_, want := MatchNet(rules, "a.b", "https", 443, "", "")
		for _, q := range requests {
			if rule, got := MatchNet(rules, "a.b", "https", 443, q[0], q[1]); got != want || got && len(rule.Secrets) > 0 {
				t.Fatalf("%+v\n%s %s: %v by %+v, and %v unseen", rules, q[1], q[0], got, rule, want)
			}
		}
	}
	if unseen < 1000 {
		t.Errorf("only %d sets of rules tell anything", unseen)
	}
}

// TestSecretsOfAllRules checks that a request gets the secrets of all rules that allow it, each once.
func TestSecretsOfAllRules(t *testing.T) {
	with := func(names ...string) NetRule {
		r := NetRule{Host: "a.b", Allow: true}
		for _, name := range names {
			r.Secrets = append(r.Secrets, Secret{Env: name})
		}
		return r
	}
	rule, _ := MatchNet([]NetRule{with("A"), with("B", "C"), with("C")}, "a.b", "https", 443, "/", "GET")
	if got := slices.Sorted(slices.Values(rule.SecretNames())); !slices.Equal(got, []string{"A", "B", "C"}) {
		t.Errorf("the secrets are %q", got)
	}
}
