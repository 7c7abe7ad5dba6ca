package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestLeaksOf tests what is looked for in the requests of a profile.
func TestLeaksOf(t *testing.T) {
	host := func(name string) policy.NetRule { return policy.NetRule{Host: name, Allow: true} }
	env := []policy.Variable{
		{Name: "A_TOKEN", Value: "q7Zr-41bc-9Xw2", Secret: true},
		{Name: "HELD", Value: policy.Placeholder("HELD"), Secret: true},
		{Name: "OPEN_TOKEN", Value: "q7Zr-41bc-9Xw3"},
	}
	for range 8 { // the last one no longer fits
		env = append(env, policy.Variable{Name: "LONG_TOKEN", Value: strings.Repeat("x1", 2<<10), Secret: true})
	}
	const all = "A_TOKEN" + ",LONG_TOKEN,LONG_TOKEN,LONG_TOKEN,LONG_TOKEN,LONG_TOKEN,LONG_TOKEN,LONG_TOKEN"
	for _, c := range []struct {
		name  string
		leaks string
		net   []policy.NetRule
		want  string
	}{
		{"off", policy.LeaksOff, []policy.NetRule{host("a.test"), host("b.test")}, " false"},
		{"two hosts", policy.LeaksWarn, []policy.NetRule{host("a.test"), host("b.test")}, all + " false"},
		{"one host", policy.LeaksBlock, []policy.NetRule{host("a.test"), host("a.test"), {Host: "b.test"}}, " true"},
		{"a pattern", policy.LeaksWarn, []policy.NetRule{host("*.a.test")}, all + " false"},
	} {
		l := leaksOf(&policy.Profile{Leaks: c.leaks, Net: c.net, OneHost: policy.HasOneHost(c.net), Env: env})
		var names []string
		for _, s := range l.Secrets {
			names = append(names, s.Name)
		}
		testkit.Equal(t, c.name, fmt.Sprint(strings.Join(names, ","), " ", l.Block), c.want)
	}
}
