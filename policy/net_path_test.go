package policy

import (
	"net/url"
	"path"
	"strings"
	"testing"
)

// TestCleanPath checks that a path is not clean if some server could read a way up in it,
// and that paths with merely unusual names are clean.
func TestCleanPath(t *testing.T) {
	for _, path := range []string{
		"", "/", "/pub", "/pub/", "/pub/a?x=../..", "/pub/a..b", "/pub/..a", "/pub/a..", "/pub/.well-known", "/pub/...", "/pub/a.", "/pub/.a.",
		"/pub/a%20b", "/pub/%20", "/pub/a%20..b", "/pub/a b", "/pub/1...2", "/pub/v1.0...v2.0", "/pub/@scope", "/pub/a+b", "/pub/a:b", "/pub/a,b=c",
		"/pub/%C3%A9t%C3%A9", "/pub/été", "/pub/%E6%97%A5%E6%9C%AC", "/pub/%E3%80%82%E3%81%AF", "/pub/AC%EF%BC%8FDC", "/pub/%EF%BC%A1", // 。は, AC／DC, Ａ
		"/pub/%F0%9F%91%A9%E2%80%8D%F0%9F%92%BB", "/pub/a%E2%80%A6", "/pub/C%23", "/pub/what%3F", // a woman with a joiner and a computer; a…
	} {
		if !CleanPath(path) {
			t.Errorf("%q is not clean", path)
		}
	}
	for _, path := range []string{
		"/pub/./a", "/pub/../a", "/pub//a", "/pub/..", "/pub/%2e%2E/a", "/pub/%2e./a", "/pub\\..\\a", "/pub/..%5ca", "/pub/..%2fa", "/pub/..;/a", "/pub/%252e%252e/a", "/pub/%zz", "/pub/%u002e",
		"/pub/%c0%ae%c0%ae/a", "/pub/%c0%ae./a", "/pub/%e0%80%ae%e0%80%ae/a", "/pub/..%c0%af", "/pub/..%ff/a", "/pub/%E9", // broken UTF-8
		"/pub/.%09./a", "/pub/..%0a/a", "/pub/..%0d%0a/a", "/pub/..%00/a", "/pub/..%00.png", "/pub/%7f../a", "/pub/a%0ab", "/pub/..%c2%85/a", "/pub/a%c2%9fb", // control characters
		"/pub/..%20/a", "/pub/%20../a", "/pub/.%20./a", "/pub/.. /a", "/pub/..%20.", "/pub/..%c2%a0/a", "/pub/..%e3%80%80/a", // spaces
		"/pub/.%e2%80%8b./a", "/pub/..%ef%bb%bf/a", "/pub/.%c2%ad./a", // invisible characters
		"/pub/%ef%bc%8e%ef%bc%8e/a", "/pub/．./a", "/pub/%e2%80%a4./a", "/pub/%e2%80%a5/a", "/pub/%ef%b9%92./a", "/pub/..%ef%bc%8fa", "/pub/a%ef%bc%8f..%ef%bc%8fb", "/pub/..%ef%bc%bca", // wide
		"/pub/..%3f/a", "/pub/..%23/a", // for servers that unescape before they cut off the query
	} {
		if CleanPath(path) {
			t.Errorf("%q is clean", path)
		}
		if _, ok := MatchNet([]NetRule{{Host: "a", PathPrefix: "/pub", Allow: true}}, "a", "https", 443, path, "GET"); ok {
			t.Errorf("%q is below /pub", path)
		}
	}
	if err := CheckNetRule(NetRule{Host: "a", PathPrefix: "/a/..\u200b", Allow: true}); err == nil {
		t.Error("a prefix with a way up is taken")
	}
}

// refusing are rules for a host of which one part is refused.
var refusing = []NetRule{{Host: "a", Allow: true}, {Host: "a", PathPrefix: "/Repos/me/secret"}}

// TestRefusedSpellings: what some server reads as a refused path is refused in each spelling, and
// what is beside it is not.
func TestRefusedSpellings(t *testing.T) {
	spellings := map[string]bool{ // whether it is refused
		"/Repos/me/secret": true, "/Repos/me/secret/x": true,
		"/repos/ME/Secret/x": true, "/REPOS/ME/SECRET": true, "/Repos/me/\u017fecret": true, // a long s
		"/Repos/me/secret./x": true, "/Repos/me/secret%20/x": true, "/Repos/me/secret.%20.": true, "/Repos/me./secret": true,
		"/Repos/me/secret;v=1/x": true, "/Repos/me;x/secret": true, "/Repos/me/%73ecret": true, "/Repos%2fme%2fsecret": true, "/Repos/me/%2573ecret": true,
		"/Repos\\me\\secret": true, "/Repos//me/secret": true, "/Repos/me/x/../secret": true, "/Repos/me/secret%3fx": true, "/Repos/me/secret%23": true,
		"/Repos/me/\uff53ecret": true, "/Repos/me\uff0fsecret": true, "/Repos/me/sec\u200bret": true, "/Repos/me/secret\u3002": true,
		"/Repos/me/secret.json": true, "/repos/me/SECRET.tar.gz/": true, // formats of the same
		"/Repos/me/sec\ufe0fret": true, "/Repos/me/s\u00e9cret": true, "/Repos/me/se\u034fcret": true,

		"/": false, "/Repos/me": false, "/Repos/me/secrets": false, "/Repos/me/secret-x": false, "/Repos/me/.secret": false, "/Repos/me.json": false, "/Repos/me.x/secret": false, "/Repos/me/secretjson": false, "/x/Repos/me/secret": false,
	}
	for spelling, refused := range spellings {
		if rule, ok := MatchNet(refusing, "a", "https", 443, spelling, "GET"); ok == refused {
			t.Errorf("%q: %v, by %+v", spelling, ok, rule)
		}
		if _, ok := MatchNet(refusing[:1], "a", "https", 443, spelling, "GET"); !ok {
			t.Errorf("control: %q is refused without a rule", spelling)
		}
	}
	accented := []NetRule{{Host: "a", Allow: true}, {Host: "a", PathPrefix: "/caf\u00e9"}}
	letters := []NetRule{{Host: "a", Allow: true}, {Host: "a", PathPrefix: "/private"}, {Host: "a", PathPrefix: "/stra\u00dfe"}, {Host: "a", PathPrefix: "/class"}}
	for spelling, rules := range map[string][]NetRule{
		"/caf\u00e9": accented, "/cafe\u0301": accented, "/caf%C3%89": accented, "/CAFE%CC%81/x": accented, "/cafe": accented, // a database may ignore accents
		"/pr\u0131vate": letters, "/PR\u0130VATE": letters, "/STRA\u1e9eE": letters, "/strasse": letters, "/cla\u1e9e": letters, // equalsIgnoreCase in Java, casefold in Python
	} {
		if _, ok := MatchNet(rules, "a", "https", 443, spelling, "GET"); ok {
			t.Errorf("%q is allowed", spelling)
		}
		if _, ok := MatchNet(rules, "a", "https", 443, "/x"+spelling[1:], "GET"); !ok {
			t.Errorf("control: %q is refused too", "/x"+spelling[1:])
		}
	}
	for _, host := range []string{"A", "a.", "\uff41"} {
		if _, ok := MatchNet(refusing, host, "https", 443, "/repos/me/secret", "GET"); ok {
			t.Errorf("host %s is allowed", host)
		}
	}
}

// lenient returns a path as a server could read it that unescapes twice, ignores case as Java does, and
// takes off what Windows and Rails do.
func lenient(text string) string {
	text, _, _ = strings.Cut(text, "?")
	for range 2 {
		if u, err := url.PathUnescape(text); err == nil {
			text = u
		}
	}
	var parts []string
	for p := range strings.SplitSeq(strings.ReplaceAll(text, `\`, "/"), "/") {
		p, _, _ = strings.Cut(p, ";")
		if trimmed := strings.TrimRight(p, ". "); trimmed != "" {
			p = trimmed
		}
		parts = append(parts, p)
	}
	last := &parts[len(parts)-1]
	*last = strings.TrimSuffix(*last, ".json")
	return strings.ToLower(strings.NewReplacer("\u0131", "i", "\u0130", "i").Replace(path.Clean("/" + strings.Join(parts, "/"))))
}

// FuzzPaths: a path that a lenient server reads as a refused one is refused, and one that is allowed
// by its prefix has that prefix also for a strict server.
func FuzzPaths(f *testing.F) {
	for _, seed := range []string{"/Repos/me/secret/x", "/repos/ME/Secret", "/Repos/me/secret.%20/x", "/Repos/me/%2573ecret", "/Repos/x/..\\me;a/secret", "/Repos/me/public", "/Repos/me/PUBLIC", "/%52epos//me/secret?x", "/Repos/me/%EF%BD%93ecret", "/Repos/me/secret.json", "/Repos/me/secr%C3%A9t"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const refused, public = "/repos/me/secret", "/Repos/me/public"
		_, ok := MatchNet(refusing, "a", "https", 443, text, "GET")
		if is := lenient(text); (is == refused || strings.HasPrefix(is, refused+"/")) && ok {
			t.Errorf("%q is allowed, and some read %q", text, is)
		}
		if _, ok := MatchNet([]NetRule{{Host: "a", PathPrefix: public, Allow: true}}, "a", "https", 443, text, "GET"); ok {
			strict, err := url.PathUnescape(strings.Split(text, "?")[0])
			if err != nil || path.Clean(strict) != strings.TrimSuffix(strict, "/") || strict != public && !strings.HasPrefix(strict, public+"/") {
				t.Errorf("%q is allowed as public", text)
			}
		}
	})
}
