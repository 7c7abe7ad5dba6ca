package policy

import (
	"net/netip"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestMeetNet checks that no request is allowed that one of two random lists refuses, and that equal lists
// are left alone.
func TestMeetNet(t *testing.T) {
	allowed, wider := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		one := func(words ...string) string { return rapid.SampledFrom(words).Draw(rt, "word") }
		list := func() (out []NetRule) {
			for range rapid.IntRange(1, 4).Draw(rt, "rules") {
				r := NetRule{Host: one("h.example", "x.h.example", "*.h.example", "*.example", "*", "localhost", "10.0.0.1"), Scheme: one("", "", "http", "https", "tcp"), Allow: one("a", "a", "") != ""}
				r.Port = map[string]int{"": 0, "443": 443, "80": 80}[one("", "443", "80")]
				if r.Scheme == "tcp" && r.Port == 0 {
					r.Port = 443
				}
				if r.Scheme != "tcp" {
					r.PathPrefix = one("", "", "/a", "/a/b")
					r.Methods = map[string][]string{"": nil, "GET": {"GET"}, "both": {"GET", "POST"}}[one("", "", "GET", "both")]
				}
				if CheckNetRule(r) == nil {
					out = append(out, r)
				}
			}
			return out
		}
		a, b := list(), list()
		met := meetNet(a, b)
		if same := meetNet(a, a); !reflect.DeepEqual(same, a) {
			rt.Fatalf("%+v becomes %+v", a, same)
		}
		for _, r := range met {
			if err := CheckNetRule(r); err != nil {
				rt.Fatalf("%+v: %v\n%+v\n%+v", r, err, a, b)
			}
		}
		local := netip.MustParseAddr("127.0.0.1")
		for _, port := range []int{80, 443} {
			for _, addr := range []netip.Addr{local, netip.MustParseAddr("10.0.0.1")} {
				_, in := CheckAddress(met, addr, port, addr == local)
				_, inA := CheckAddress(a, addr, port, addr == local)
				_, inB := CheckAddress(b, addr, port, addr == local)
				if in && !(inA && inB) {
					rt.Fatalf("%s:%d is dialled: %+v\n%+v\n%+v", addr, port, met, a, b)
				}
			}
		}
		for _, host := range []string{"h.example", "x.h.example", "y.h.example", "other.example", "example", "localhost", "10.0.0.1"} {
			for scheme, port := range map[string]int{"http": 80, "https": 443, "tcp": 443, "": 80} {
				for _, path := range []string{"", "/", "/a", "/a/b", "/a/b/c", "/c"} {
					for _, method := range []string{"GET", "POST", "PUT"} {
						if path == "" {
							method = ""
						}
						_, in := MatchNet(met, host, scheme, port, path, method)
						_, inA := MatchNet(a, host, scheme, port, path, method)
						_, inB := MatchNet(b, host, scheme, port, path, method)
						switch {
						case in && !(inA && inB):
							rt.Fatalf("%s %s://%s:%d%s is allowed: %+v\n%+v\n%+v", method, scheme, host, port, path, met, a, b)
						case in:
							allowed++
						case inA && inB:
							wider++
						}
					}
				}
			}
		}
	})
	if allowed < 200 || wider > allowed {
		t.Errorf("%d requests were allowed, and %d that both lists allow were not", allowed, wider)
	}
}

// TestMeetLoopback checks that a rule for localhost, or for one of its addresses, does not lift a refusal of some
// requests in another list that has another of these names.
func TestMeetLoopback(t *testing.T) {
	for asked, refused := range map[string]string{"127.0.0.1": "localhost", "localhost": "127.0.0.1"} {
		allow := NetRule{Host: asked, Port: 80, Allow: true}
		out := meetNet([]NetRule{{Host: refused, PathPrefix: "/admin"}, allow}, []NetRule{allow})
		for path, want := range map[string]bool{"/admin/x": false, "/open": true} {
			if _, ok := MatchNet(out, asked, "http", 80, path, "GET"); ok != want {
				t.Errorf("%s of %s, where %s is refused: %v, want %v\n%+v", path, asked, refused, ok, want, out)
			}
		}
	}
}

// TestMeetKeepsHosts tests that a second list takes away no search for secrets: they may go to the only host of the
// user, and not to the only one that a project's file leaves.
func TestMeetKeepsHosts(t *testing.T) {
	a, b := NetRule{Host: "a.test", Allow: true}, NetRule{Host: "b.test", Allow: true}
	profile := func(rules ...NetRule) *Profile { return &Profile{Net: rules, OneHost: HasOneHost(rules)} }
	for _, c := range []struct {
		user, project *Profile
		want          bool
	}{
		{profile(a), profile(a, b), true},
		{profile(a, b), profile(a), false},
		{profile(a, b), profile(a, b), false},
	} {
		out, err := Meet(c.user, c.project)
		if err != nil || out.OneHost != c.want {
			t.Errorf("Meet of %v and %v: one host: %t, want %t (%v)", c.user.Net, c.project.Net, out.OneHost, c.want, err)
		}
	}
}
