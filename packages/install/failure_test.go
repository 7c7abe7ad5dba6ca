package install

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestFetchError tests that each error of npm says what to do.
func TestFetchError(t *testing.T) {
	refused := []refusal{{Denial: policy.Denial{Axis: policy.AxisNet, Operation: "connect", Target: "cdn.test:443", Reason: policy.DeniedNotGranted, Count: 1}}}
	for _, c := range []struct {
		e    FetchError
		want string
	}{
		{FetchError{Output: []string{"npm error code ENOTFOUND"}}, "the registry did not answer"},
		{FetchError{Output: []string{"npm ERR! code E403"}}, "npm login"},
		{FetchError{Output: []string{"npm error code E401"}, Asked: "x", Registry: []string{"r.test"}}, "that it needs. Asked were: r.test (E401). No login of yours was used"},
		{FetchError{Output: []string{"npm error code SELF_SIGNED_CERT_IN_CHAIN"}}, "npm config set cafile FILE"},
		{FetchError{Output: []string{"npm error code ENOTFOUND", "npm error network request to https://cdn.test/x.tgz failed"}, Refused: refused, Registry: []string{"r.test"}}, "npm config set @packages-from:registry https://cdn.test/"},
		{FetchError{Output: []string{"npm error code ENOTFOUND"}, Refused: refused, Registry: []string{"r.test"}}, "sends npm to https://cdn.test/"},
		{FetchError{Status: 9, Output: []string{"a", "b"}}, "ended with status 9\na\nb"},
		{FetchError{Output: []string{"npm error code ESTRANGE", "npm error", "npm error why", "npm error Usage:"}}, "failed with ESTRANGE: why"},
		{FetchError{Script: "evil@1", Status: 3, Refused: refused}, "the install script of evil@1 failed with status 3"},
	} {
		c.e.Package, c.e.Code = "pkg", codeOf(c.e.Output)
		if text := c.e.Error(); !strings.Contains(text, "pkg") || !strings.Contains(text, c.want) {
			t.Errorf("%s\nwant %q", text, c.want)
		}
	}
}

// TestMovedError tests that the reason is told why a tree of the same packages has other files.
func TestMovedError(t *testing.T) {
	pinned := &store.Entry{Key: store.Key{Ecosystem: store.NPM, Spec: "pkg"}, Tree: "t", Files: "1"}
	scripts := *pinned
	scripts.ScriptsRan = true
	other := *pinned
	other.Files = "2"
	i := &Installer{LockFile: "file", Asked: "files"}
	for _, c := range []struct {
		pinned, found *store.Entry
		want          string
	}{{&scripts, &other, "install scripts ran"}, {pinned, &other, "another version of npm"}} {
		if text := i.samePin(c.pinned, c.found).Error(); !strings.Contains(text, c.want) || !strings.Contains(text, "mcp-jail install --update files") {
			t.Errorf("%s\nwant %q", text, c.want)
		}
	}
}

// TestAskedWords tests that advice for a package whose line is not known is typed as it is meant: a
// shell acts on ">" and "^".
func TestAskedWords(t *testing.T) {
	for want, e := range map[string]store.Entry{"-- npx -y 'a@>=1 <2'": {Key: store.Key{Spec: "a@>=1 <2"}}, "-- uvx 'a>=1'": {Key: store.Key{Ecosystem: store.PyPI, Spec: "a>=1"}}, "-- npx -y a@1": {Key: store.Key{Spec: "a@1"}}} {
		testkit.Equal(t, "", (&Installer{}).asked(&e), want)
	}
}

// TestRefusal tests the words for attempts. A name that a package has chosen cannot write on the
// terminal.
func TestRefusal(t *testing.T) {
	denial := policy.Denial{Operation: "create", Target: "/home/u/\x1b[2J", Count: 2}
	for _, c := range []struct{ installer, pkg, want string }{
		{"npm", "evil@1.0.0", `the install script of evil@1.0.0 tried to create "/home/u/\x1b[2J" (2 times): refused`},
		{"npm", "", `npm tried to create "/home/u/\x1b[2J" (2 times): refused`},
		{"pip", "", `pip tried to create "/home/u/\x1b[2J" (2 times): refused`},
	} {
		testkit.Equal(t, "", refusals(c.installer, c.pkg, []policy.Denial{denial})[0].String(), c.want)
	}
}
