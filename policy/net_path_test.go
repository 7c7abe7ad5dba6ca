package policy

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestCleanPath checks that a path is not clean if some server could read a way up in it,
// and that paths with merely unusual names are clean.
func TestCleanPath(t *testing.T) {
	for _, row := range testkit.Rows(t, "clean_paths.txt", 2) {
		path, clean := row[0], row[1] == "true"
		if CleanPath(path) != clean {
			t.Errorf("%q is clean: %v", path, !clean)
		}
		if _, ok := MatchNet([]NetRule{{Host: "a", PathPrefix: "/pub", Allow: true}}, "a", "https", 443, path, "GET"); ok && !clean {
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
	for _, row := range testkit.Rows(t, "spellings.txt", 2) {
		spelling, refused := row[0], row[1] == "true"
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
