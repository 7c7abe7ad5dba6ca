package diagnostics

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

const privateHome = "/home/u/.local/state/mcp-jail/homes/github"

// keyHost is a host whose user keeps keys, programs and browsers in the home.
var keyHost = host{
	"/home/u/.thing/keys.json": true, "/home/u/.thing/more.json": true, "/home/u/.config/thing/token": true, "/home/u/keys/a.pem": true, "/home/u/.ssh/id_rsa": true,
	"/home/u/.github-mcp/oauth.json": true, "/home/u/.nvm/nvm.sh": true, "/home/u/.local/bin/tool": true, "/home/u/.aws/credentials": true,
	"/home/u/.cache/ms-playwright/chromium-1/chrome-linux/chrome": true, "/home/u/.pgpass": true, "/home/u/linked/token": true,
	privateHome + "/.own/x": true, privateHome + "/.file": true, "/home/u/.file/x": true, "/home/u/.own/x": true,
}

func inPrivateHome(text string) Evidence {
	ev := evidence(text)
	ev.Stage, ev.FromCommandLine = StageCall, true
	ev.Exists = func(path string) bool { return keyHost.exists(path) || someHost.exists(path) }
	ev.May = func(path string, r policy.Rights) bool {
		if !r.Has(policy.Execute) {
			return true
		}
		return strings.Contains(path, "/bin/") || strings.HasSuffix(path, "/chrome")
	}
	return ev
}

// TestLinkInHome: the rule has the name under which the server looks, and not that of the object.
func TestLinkInHome(t *testing.T) {
	for _, path := range []string{privateHome + "/linked/token", "/home/u/linked/token"} {
		ev := inPrivateHome("ENOENT: no such file or directory, open '" + path + "'")
		ev.Canonical = func(p string) string { return strings.Replace(p, "/home/u/linked", "/home/u/dotfiles/linked", 1) }
		exists := ev.Exists
		ev.Exists = func(p string) bool { return p == "/home/u/dotfiles/linked/token" || exists(p) }
		if d := Diagnose(ev); !slices.Equal(d.Words, []string{"--read", "~/linked/token"}) {
			t.Errorf("%s: %s", path, d.Text())
		}
	}
}
