package tried

import (
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestBeyond: what one policy grants and another one does not is named, on each axis. The same policy, and a
// narrower one, grant nothing beyond.
func TestBeyond(t *testing.T) {
	const all = policy.Read | policy.Write
	rule := func(path string, r policy.Rights) policy.Entry {
		return policy.Entry{Path: path, Kind: policy.KindDir, Rights: r, Origin: policy.OriginRule}
	}
	host := func(name string) policy.NetRule { return policy.NetRule{Host: name, Allow: true} }
	get := policy.NetRule{Host: "a.example", Methods: []string{"GET"}, Allow: true}
	side := func(change func(*policy.Policy, *policy.Profile)) Side {
		s := Side{&policy.Policy{}, &policy.Profile{Dir: "/w"}}
		change(s.Policy, s.Profile)
		return s
	}
	files := func(entries ...policy.Entry) Side {
		return side(func(_ *policy.Policy, p *policy.Profile) { p.Entries = entries })
	}
	net := func(rules ...policy.NetRule) Side {
		return side(func(_ *policy.Policy, p *policy.Profile) { p.Net = rules })
	}
	env := func(rules ...policy.EnvRule) Side {
		return side(func(p *policy.Policy, _ *policy.Profile) { p.Env = rules })
	}
	starts := func(rules ...policy.CommandRule) Side {
		return side(func(p *policy.Policy, _ *policy.Profile) { p.Commands = rules })
	}
	for _, c := range []struct {
		name   string
		a, b   Side
		ab, ba []string
	}{
		{"rights", files(rule("/n", all)), files(rule("/n", policy.Read)), []string{"write /n"}, nil},
		{"a path", files(rule("/n", all), rule("/o", policy.Read)), files(rule("/n", all)), []string{"read /o"}, nil},
		{"a path below", files(rule("/n", policy.Read), rule("/n/o", all)), files(rule("/n", policy.Read)), []string{"write /n/o"}, nil},
		{"what is refused below", files(rule("/n", all)), files(rule("/n", all), rule("/n/secret", 0)), []string{"read write /n/secret"}, nil},
		{"wider, once", files(rule("/n", all), rule("/n/o", all)), files(rule("/n/o", policy.Read)), []string{"read write /n"}, nil},
		{"what is refused and not there", files(rule("/n", policy.Read)), side(func(_ *policy.Policy, p *policy.Profile) {
			p.Entries, p.HiddenLater = []policy.Entry{rule("/n", policy.Read)}, []string{"/n/later"}
		}), []string{"read /n/later, once it is there"}, nil},
		{"a rule for what is not there", side(func(p *policy.Policy, _ *policy.Profile) {
			p.Fs = []policy.FsRule{{Path: "~/missing", Read: true, Optional: true}}
		}), side(func(*policy.Policy, *policy.Profile) {}), []string{"read /nowhere/missing, once it is there"}, nil},
		{"a host", net(host("a.example"), host("b.example")), net(host("a.example")), []string{`host "b.example"`}, nil},
		{"a wildcard", net(host("*.example")), net(host("a.example")), []string{`host "*.example"`}, nil},
		{"a port", net(policy.NetRule{Host: "a.example", Port: 22, Allow: true}), net(host("a.example")), []string{`host "a.example" port = 22`}, []string{`host "a.example"`}},
		{"any request", net(host("a.example")), net(get), []string{`host "a.example"`}, nil},
		{"a host that is refused", net(host("*.example")), net(host("*.example"), policy.NetRule{Host: "a.example"}), []string{`host "a.example", which the policy in force refuses`}, nil},
		{"a variable", env(policy.EnvRule{Name: "A", Read: true}), env(), []string{"the variable A"}, nil},
		{"variables", env(policy.EnvRule{Name: "A*", Read: true}), env(policy.EnvRule{Name: "AB", Read: true}), []string{"the variable A*"}, nil},
		{"a variable that is refused", env(policy.EnvRule{Name: "A*", Read: true}), env(policy.EnvRule{Name: "A*", Read: true}, policy.EnvRule{Name: "AB"}), []string{"the variable A*"}, nil},
		{"any program", side(func(*policy.Policy, *policy.Profile) {}), starts(policy.CommandRule{Name: "git"}), []string{"start any program"}, nil},
		{"a program", starts(policy.CommandRule{Name: "git"}, policy.CommandRule{Name: "ls"}), starts(policy.CommandRule{Name: "git"}), []string{"start ls"}, nil},
		{"any arguments", starts(policy.CommandRule{Name: "git"}), starts(policy.CommandRule{Name: "git", Args: [][]string{{"status"}}}), []string{"start git"}, nil},
		{"inbound", side(func(_ *policy.Policy, p *policy.Profile) { p.Inbound = []int{80} }), side(func(*policy.Policy, *policy.Profile) {}), []string{"connections from this host to port 80"}, nil},
	} {
		for _, d := range []struct {
			a, b Side
			want []string
		}{{c.a, c.b, c.ab}, {c.b, c.a, c.ba}, {c.a, c.a, nil}, {c.b, c.b, nil}} {
			if got := Beyond(d.a, d.b, "/nowhere"); !slices.Equal(got, d.want) {
				t.Errorf("%s: %q, want %q", c.name, got, d.want)
			}
		}
	}
}
