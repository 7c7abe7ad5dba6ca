package policytest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Rules reads rules for hosts that are written as words of [!][METHOD,…@][scheme://]host[:port][/path][#SECRET]. "!"
// refuses, and a host of IPv6 is in brackets.
func Rules(t testing.TB, words string) (rules []policy.NetRule) {
	t.Helper()
	for _, word := range strings.Fields(words) {
		rest, refuses := strings.CutPrefix(word, "!")
		r := policy.NetRule{Allow: !refuses}
		if methods, of, ok := strings.Cut(rest, "@"); ok {
			r.Methods, rest = strings.Split(methods, ","), of
		}
		if scheme, of, ok := strings.Cut(rest, "://"); ok {
			r.Scheme, rest = scheme, of
		}
		if of, secret, ok := strings.Cut(rest, "#"); ok {
			r.Secrets, rest = []policy.Secret{{Env: secret}}, of
		}
		if at := strings.Index(rest, "/"); at >= 0 {
			r.PathPrefix, rest = rest[at:], rest[:at]
		}
		r.Host = rest
		if at := strings.LastIndex(rest, ":"); at > strings.LastIndex(rest, "]") {
			port, err := strconv.Atoi(rest[at+1:])
			if err != nil {
				t.Fatalf("%s: %v", word, err)
			}
			r.Host, r.Port = rest[:at], port
		}
		r.Host = strings.Trim(r.Host, "[]")
		rules = append(rules, r)
	}
	return rules
}
