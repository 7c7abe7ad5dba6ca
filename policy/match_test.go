package policy

import (
	"strings"
	"testing"
)

func TestNormalizeHost(t *testing.T) {
	for host, want := range map[string]string{
		"api.github.com": "api.github.com", "API.GitHub.com.": "api.github.com", "localhost": "localhost", "LOCALHOST.": "localhost",
		"*": "*", "*.Example.COM": "*.example.com", "bücher.example": "xn--bcher-kva.example", "*.bücher.example": "*.xn--bcher-kva.example", "XN--BCHER-KVA.example": "xn--bcher-kva.example",
		"10.0.0.1": "10.0.0.1", "::1": "::1", "[::1]": "::1", "2001:DB8:0::1": "2001:db8::1", "::ffff:10.0.0.1": "10.0.0.1",
		"my_service": "my_service", "a-b.c": "a-b.c", "１２７.0.0.1x": "127.0.0.1x",
	} {
		got, err := NormalizeHost(host)
		if err != nil || got != want {
			t.Errorf("NormalizeHost(%q) = %q, %v; want %q", host, got, err, want)
		}
	}
	for _, host := range []string{
		"", ".", "..", "a..b", ".a", "user@host", "user:pw@host", "https://host", "host/path", "host:443", "host\x00", "a\r\nb", "a b", "a\tb",
		"fe80::1%eth0", "fe80::1%25eth0", "[fe80::1%1]", "a%2eb", "a?b", "a#b", "a\\b",
		"0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "2130706433", "127.1", "127.0.0.01", "1.2.3.4.5", "10.0.0.256", "１２７.１", "127。0。1", "0x",
		"a*b", "*a", "**", "*.*", "a.*", "*.10.0.0.1", "[10.0.0.1]", "[a]", "*.", "-a.b", "a-.b", "xn--", "xn--a", "\xff", "a\u200bb:1",
		strings.Repeat("a", 64), strings.Repeat("a.", 127) + "a", strings.Repeat("a", 5000),
	} {
		if got, err := NormalizeHost(host); err == nil {
			t.Errorf("NormalizeHost(%q) = %q, want an error", host, got)
		}
	}
}

func FuzzHost(f *testing.F) {
	for _, s := range []string{"a.b", "*.a", "BÜCHER.de.", "::ffff:1.2.3.4", "[::1]", "0x7f.1", "１.２.３.４", "xn--bcher-kva", "ß", "a\u00adb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		got, err := NormalizeHost(host)
		if err != nil {
			return
		}
		again, err := NormalizeHost(got)
		if err != nil || again != got {
			t.Fatalf("%q -> %q -> %q, %v: not idempotent", host, got, again, err)
		}
		if strings.ContainsAny(got, "@/\\%\x00\r\n ?#[]") || strings.ToLower(got) != got || !isASCII(got) || got == "" {
			t.Fatalf("%q -> %q", host, got)
		}
		name := strings.TrimPrefix(got, "*.")
		if _, ok := MatchNet([]NetRule{{Host: "a.example", Allow: true}}, name, "https", 443, "", ""); ok && name != "a.example" {
			t.Fatalf("%q matches a.example", got)
		}
	})
}

func TestMatchNet(t *testing.T) {
	rule := func(host string, edit ...func(*NetRule)) NetRule {
		r := NetRule{Host: host, Allow: true}
		for _, e := range edit {
			e(&r)
		}
		return r
	}
	deny := func(r *NetRule) { r.Allow = false }
	scheme := func(s string) func(*NetRule) { return func(r *NetRule) { r.Scheme = s } }
	port := func(p int) func(*NetRule) { return func(r *NetRule) { r.Port = p } }
	prefix := func(p string) func(*NetRule) { return func(r *NetRule) { r.PathPrefix = p } }
	type q struct {
		host, scheme string
		port         int
		path         string
	}
	tests := []struct {
		name  string
		rules []NetRule
		q     q
		want  bool
	}{
		{"empty is no network", nil, q{"a.b", "https", 443, "/"}, false},
		{"exact", []NetRule{rule("a.b")}, q{"a.b", "https", 443, "/"}, true},
		{"both ports", []NetRule{rule("a.b")}, q{"a.b", "http", 80, "/"}, true},
		{"other port", []NetRule{rule("a.b")}, q{"a.b", "https", 8443, "/"}, false},
		{"normalised on both sides", []NetRule{rule("a.b")}, q{"A.B.", "https", 443, "/"}, true},
		{"no suffix", []NetRule{rule("api.github.com")}, q{"api.github.com.evil.com", "https", 443, "/"}, false},
		{"no prefix", []NetRule{rule("github.com")}, q{"api.github.com", "https", 443, "/"}, false},
		{"wildcard", []NetRule{rule("*.b")}, q{"x.a.b", "https", 443, "/"}, true},
		{"not the name itself", []NetRule{rule("*.b")}, q{"b", "https", 443, "/"}, false},
		{"by label", []NetRule{rule("*.b")}, q{"ab", "https", 443, "/"}, false},
		{"star", []NetRule{rule("*")}, q{"any.thing", "https", 443, "/"}, true},
		{"bad host", []NetRule{rule("*")}, q{"a@b", "https", 443, "/"}, false},
		{"octal", []NetRule{rule("*")}, q{"0177.0.0.1", "https", 443, "/"}, false},
		{"https rule, http", []NetRule{rule("a", scheme("https"))}, q{"a", "http", 80, "/"}, false},
		{"https rule, port 80", []NetRule{rule("a", scheme("https"))}, q{"a", "https", 80, "/"}, false},
		{"https rule, own port", []NetRule{rule("a", scheme("https"), port(8443))}, q{"a", "https", 8443, "/"}, true},
		{"scheme not visible", []NetRule{rule("a", scheme("https"))}, q{"a", "", 443, ""}, true},
		{"tcp covers https", []NetRule{rule("a", scheme("tcp"), port(443))}, q{"a", "https", 443, "/"}, true},
		{"https is not tcp", []NetRule{rule("a", scheme("https"))}, q{"a", "tcp", 443, ""}, false},
		{"address", []NetRule{rule("10.0.0.1", port(5432))}, q{"10.0.0.1", "tcp", 5432, ""}, true},
		{"v4-mapped", []NetRule{rule("10.0.0.1", port(5432))}, q{"::ffff:10.0.0.1", "tcp", 5432, ""}, true},
		{"exact beats wildcard", []NetRule{rule("a.b", deny), rule("*.b"), rule("*")}, q{"a.b", "https", 443, "/"}, false},
		{"longer wildcard", []NetRule{rule("*.a.b", deny), rule("*.b")}, q{"x.a.b", "https", 443, "/"}, false},
		{"more present", []NetRule{rule("a", port(443), deny), rule("a")}, q{"a", "https", 443, "/"}, false},
		{"scheme and port", []NetRule{rule("a", scheme("https"), port(443)), rule("a", port(443), deny)}, q{"a", "https", 443, "/"}, true},
		{"tie, last", []NetRule{rule("a"), rule("a", deny)}, q{"a", "https", 443, "/"}, false},
		{"tie, last allows", []NetRule{rule("a", deny), rule("a")}, q{"a", "https", 443, "/"}, true},
		{"host outweighs path", []NetRule{rule("*.b", prefix("/x/y/z"), deny), rule("a.b")}, q{"a.b", "https", 443, "/x/y/z"}, true},
		{"segments", []NetRule{rule("a", prefix("/admin"))}, q{"a", "https", 443, "/admin/users"}, true},
		{"segment itself", []NetRule{rule("a", prefix("/admin"))}, q{"a", "https", 443, "/admin"}, true},
		{"query", []NetRule{rule("a", prefix("/admin"))}, q{"a", "https", 443, "/admin?x=/y"}, true},
		{"not by string", []NetRule{rule("a", prefix("/admin"))}, q{"a", "https", 443, "/administration"}, false},
		{"trailing slash", []NetRule{rule("a", prefix("/admin/"))}, q{"a", "https", 443, "/admin/users"}, true},
		{"path denied", []NetRule{rule("a"), rule("a", prefix("/admin"), deny)}, q{"a", "https", 443, "/admin/x"}, false},
		{"path denied, other path", []NetRule{rule("a"), rule("a", prefix("/admin"), deny)}, q{"a", "https", 443, "/x"}, true},
		{"escaped", []NetRule{rule("a"), rule("a", prefix("/admin"), deny)}, q{"a", "https", 443, "/%61dmin"}, false},
		{"dots", []NetRule{rule("a"), rule("a", prefix("/admin"), deny)}, q{"a", "https", 443, "/x/../admin"}, false},
		{"escaped dots", []NetRule{rule("a"), rule("a", prefix("/admin"), deny)}, q{"a", "https", 443, "/x/%2e%2e/admin"}, false},
		{"escaped slash", []NetRule{rule("a", prefix("/api"))}, q{"a", "https", 443, "/api%2f..%2fadmin"}, false},
		{"double escape", []NetRule{rule("a", prefix("/api"))}, q{"a", "https", 443, "/api/%252e%252e/admin"}, false},
		{"broken escape", []NetRule{rule("a", prefix("/api"))}, q{"a", "https", 443, "/api/%zz"}, false},
		{"empty segment", []NetRule{rule("a", prefix("/api"))}, q{"a", "https", 443, "//api"}, false},
		{"path not visible, allow", []NetRule{rule("a", prefix("/api"))}, q{"a", "https", 443, ""}, false},
		{"path not visible, deny", []NetRule{rule("a"), rule("a", prefix("/admin"), deny)}, q{"a", "https", 443, ""}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, got := MatchNet(tt.rules, tt.q.host, tt.q.scheme, tt.q.port, tt.q.path, "GET"); got != tt.want {
				t.Errorf("%+v on %+v: %v", tt.rules, tt.q, got)
			}
		})
	}
	if !AnyNeedsInterception([]NetRule{rule("a", prefix("/x"), deny), rule("a")}, "a", "https", 443) || AnyNeedsInterception([]NetRule{rule("a"), rule("b", prefix("/x"))}, "a", "https", 443) {
		t.Error("NeedsTerminating")
	}
}

func TestMatchEnv(t *testing.T) {
	rules := func(names ...string) (out []EnvRule) {
		for _, n := range names {
			name, no := strings.CutPrefix(n, "!")
			out = append(out, EnvRule{Name: name, Read: !no})
		}
		return out
	}
	tests := []struct {
		rules []EnvRule
		name  string
		want  bool
	}{
		{nil, "A", false},
		{rules("A"), "A", true},
		{rules("A"), "AB", false},
		{rules("GH_*"), "GH_TOKEN", true},
		{rules("GH_*"), "GHX", false},
		{rules("GH_*", "!GH_TOKEN"), "GH_TOKEN", false},
		{rules("!GH_*", "GH_TOKEN"), "GH_TOKEN", true},
		{rules("!GH_TOKEN", "GH_TOKEN*"), "GH_TOKEN", false},
		{rules("GH_T*", "!GH_*"), "GH_TOKEN", true},
		{rules("A", "!A"), "A", false},
		{rules("*"), "X", true},
		{rules("*"), "LD_PRELOAD", false},
		{rules("LD_*"), "LD_PRELOAD", false},
		{rules("LD_PRELOAD*"), "LD_PRELOAD", false},
		{rules("LD_PRELOAD"), "LD_PRELOAD", true},
		{rules("NODE_*"), "NODE_OPTIONS", false},
		{rules("NODE_*"), "NODE_ENV", true},
		{rules("*"), "GIT_SSH_COMMAND", false},
		{rules("*"), "BASH_FUNC_x%%", false},
	}
	for _, tt := range tests {
		if _, got := MatchEnv(tt.rules, tt.name); got != tt.want {
			t.Errorf("%v on %s: %v", tt.rules, tt.name, got)
		}
	}
	for _, name := range strings.Fields("LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES NODE_OPTIONS PYTHONPATH PYTHONSTARTUP PYTHONHOME PERL5OPT PERL5LIB RUBYOPT RUBYLIB BASH_ENV ENV JAVA_TOOL_OPTIONS GIT_SSH GIT_SSH_COMMAND GIT_EXEC_PATH") {
		if !IsDangerousVariable(name) {
			t.Errorf("%s is not dangerous", name)
		}
	}
}
