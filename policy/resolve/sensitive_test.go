package resolve

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/policytest"
)

func TestSensitive(t *testing.T) {
	h := newFake(aSystem, `
		f /home/u/.ssh/id
		f /home/u/.ssh/known_hosts
		f /home/u/.sshfoo/x
		l /home/u/notes .ssh
		f /home/u/proj/.env
		f /home/u/proj/.env.local
		f /home/u/proj/.env.example
		f /home/u/proj/.env.sample
		f /home/u/proj/.env.template
		f /home/u/proj/.environment
		f /home/u/proj/deep/er/.env/inside
		f /home/u/proj/config/prod.env
		l /home/u/proj/linked/.env ../config/prod.env
		f /home/u/proj/keys/a.pem
		f /home/u/proj/node_modules/x/.env
		d /data/aws
		l /home/u/.aws /data/aws`)
	at := func(p *policy.Profile, path string, want policy.Rights) {
		t.Helper()
		if got := p.RightsAt(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	p, ws := mustResolve(t, h, fsRules("~:r", "/data:r"))
	for _, path := range []string{"/home/u/.ssh/id", "/home/u/proj/.env", "/home/u/proj/.env.local", "/home/u/proj/deep/er/.env/inside", "/home/u/proj/config/prod.env", "/home/u/proj/node_modules/x/.env", "/data/aws/credentials"} {
		at(p, path, 0)
	}
	for _, path := range []string{"/home/u/.sshfoo/x", "/home/u/proj/.env.example", "/home/u/proj/.env.sample", "/home/u/proj/.env.template", "/home/u/proj/.environment", "/home/u/proj/keys/a.pem", "/data/x"} {
		at(p, path, policy.Read)
	}
	if codes(ws) != "wide-grant" {
		t.Errorf("warnings %v", ws)
	}
	// A link named .env does not hide its target.
	if p, _ := mustResolve(t, newFake(aSystem, "l /home/u/proj/.env /usr/bin/node"), aServer); p.RightsAt("/usr/bin/node") != policy.Read|policy.Execute {
		t.Errorf("node: %s", p.RightsAt("/usr/bin/node"))
	}
	// A proc or sysfs in a grant is hidden, as below a container's root.
	chroot := newFake(aSystem, "f /home/u/proj/root/proc/sys/kernel/core_pattern\nf /home/u/proj/root/etc/passwd")
	mounted := func(h *hostfs.Host) { h.PseudoMounts = []string{"/home/u/proj/root/proc", "/elsewhere/proc"} }
	p, _ = mustResolve(t, chroot, aServer, mounted)
	at(p, "/home/u/proj/root/proc/sys/kernel/core_pattern", 0)
	at(p, "/home/u/proj/root/etc/passwd", policy.Read|policy.Write)
	p, ws = mustResolve(t, chroot, fsRules(".:rw", "root/proc:r"), mounted)
	at(p, "/home/u/proj/root/proc/sys", policy.Read)
	if codes(ws) != "sensitive-granted" {
		t.Errorf("warnings %v", ws)
	}
	// The link stays, because the next start must find its target again.
	for _, rights := range []string{"r", "rw"} {
		p, _ := mustResolve(t, h, fsRules("~:"+rights))
		at(p, "/home/u/proj/config/prod.env", 0)
		if e, ok := p.Find("/home/u/proj/linked/.env"); ok && (e.Path == "/home/u/proj/linked/.env") != (rights == "rw") || p.Allows(policy.OpRemove, "/home/u/proj/linked/.env") {
			t.Errorf("%s: the link is held by %+v", rights, e)
		}
		p, _ = mustResolve(t, h, fsRules("~:"+rights, "/data:r"))
		at(p, "/data/aws/credentials", 0)
		if p.Allows(policy.OpRemove, "/home/u/.aws") || policytest.AllowsRename(p, "/home/u/.aws", "/home/u/aws") {
			t.Errorf("%s: the link of a listed path can be taken away", rights)
		}
	}
	// Rules that name files grant these. The rest stays hidden.
	p, ws = mustResolve(t, h, fsRules("~:r", "~/.ssh/known_hosts:r", ".env:r"))
	at(p, "/home/u/.ssh/known_hosts", policy.Read)
	at(p, "/home/u/.ssh/id", 0)
	at(p, "/home/u/proj/.env", policy.Read)
	at(p, "/home/u/proj/.env.local", 0)
	if codes(ws) != "wide-grant sensitive-granted sensitive-granted" || !strings.Contains(ws[1].Message, "the server will be able to read /home/u/.ssh/known_hosts") {
		t.Errorf("warnings %v", ws)
	}
	// A rule for a link to a sensitive directory does not grant it.
	p, ws = mustResolve(t, h, fsRules("~/notes:r"))
	at(p, "/home/u/.ssh/id", 0)
	if codes(ws) != "sensitive-masked" {
		t.Errorf("warnings %v", ws)
	}
	// So do the files of secrets, of a configuration that the server is not in, too.
	for _, kept := range []string{"~/proj/keys/a.pem", ""} {
		rule := policy.FsRule{Path: "~/proj", Read: true, Where: "--read"}
		p, _, err := Resolve(&policy.Policy{Server: "s", Command: "server", Kept: []string{kept}, Fs: []policy.FsRule{rule}, Limits: policy.DefaultLimits}, h.host())
		if err != nil || p.Allows(policy.OpRead, "/home/u/proj/keys/a.pem") != (kept == "") || !p.Allows(policy.OpRead, "/home/u/proj/.environment") {
			t.Errorf("kept %q: %v", kept, err)
		}
	}
	// The user's list extends the built-in one.
	p, _ = mustResolve(t, h, strings.Replace(fsRules(".:r"), "access]\n", "access]\nsensitive_paths = [\"**/*.pem\", \"config\", \"**/deep/er\", \"/home/u/proj/.environment\"]\n", 1))
	for _, path := range []string{"keys/a.pem", "config/prod.env", "deep/er/x", ".environment"} {
		at(p, "/home/u/proj/"+path, 0)
	}
	at(p, "/home/u/proj/deep/x", policy.Read)
	// An absent sensitive path cannot be created.
	p, _ = mustResolve(t, h, fsRules("~:rw"))
	if p.Allows(policy.OpMkdir, "/home/u/.gnupg") || !p.Allows(policy.OpMkdir, "/home/u/.gnupgx") {
		t.Error("~/.gnupg can be made")
	}
}

// TestCacheIsHidden checks that no server can read or write the cache of answers. If its
// directory does not exist, no server can create it.
func TestCacheIsHidden(t *testing.T) {
	const own = "/home/u/.cache/mcp-jail"
	there := newFake(aSystem, "f "+own+"/catalog/x.json\nf /home/u/.cache/other/x")
	linked := newFake(aSystem, "f /home/u/disk/catalog/x.json\nf /home/u/.cache/other/x\nl "+own+" ../disk")
	for name, c := range map[string]struct {
		h    fakeHost
		rule string
		want bool // the rule reaches the cache
	}{
		"the home":              {there, "~:rw", false},
		"the cache":             {there, "~/.cache:rw", false},
		"reading only":          {there, "~/.cache:r", false},
		"by a link":             {linked, "~:rw", false},
		"not there":             {newFake(aSystem, "f /home/u/.cache/other/x"), "~/.cache:rw", false},
		"nor what it is in":     {newFake(aSystem), "~:rw", false},
		"a rule that names it":  {there, own + ":rw", true},
		"a rule for the inside": {there, own + "/catalog:rw", true},
	} {
		p, ws := mustResolve(t, c.h, fsRules(c.rule))
		file := own + "/catalog/x.json"
		if name == "by a link" {
			file = "/home/u/disk/catalog/x.json"
		}
		for op, got := range map[string]bool{"read": p.Allows(policy.OpRead, file), "write": p.Allows(policy.OpWrite, file), "create": p.Allows(policy.OpCreate, file+"2"), "mkdir": p.Allows(policy.OpMkdir, own)} {
			if c.want && op == "mkdir" { // the rule does not cover the directory itself
				continue
			}
			if got != c.want {
				t.Errorf("%s: %s: %v, want %v", name, op, got, c.want)
			}
		}
		if c.want != strings.Contains(codes(ws), "sensitive-granted") {
			t.Errorf("%s: warnings %s", name, codes(ws))
		}
		if !c.want && c.rule != "~/.cache:r" && name != "nor what it is in" && !p.Allows(policy.OpWrite, "/home/u/.cache/other/x") {
			t.Errorf("%s: the rule grants nothing at all", name)
		}
	}
}

// TestLinksAstray checks that LinksAstray is set only if a link in a grant leads to a
// sensitive path that is not granted. Only then does the supervisor check opens for
// reading.
func TestLinksAstray(t *testing.T) {
	secrets := "f /home/u/.ssh/id\nf /home/u/.netrc\nf /home/u/proj/.env\nf /home/u/other/x\nf /home/u/other/.env\nf /home/u/own/key\nf /home/u/proj/plain\n"
	for link, want := range map[string]bool{
		"":                                                              false,
		"l /home/u/proj/l plain":                                        false,
		"l /home/u/proj/l /home/u/other/x":                              false, // neither granted nor sensitive
		"l /home/u/proj/l /home/u/absent":                               false,
		"l /home/u/proj/l /usr/bin/node":                                false,
		"l /home/u/proj/l /home/u/.ssh/id":                              true,
		"l /home/u/proj/l /home/u/.ssh":                                 true,
		"l /home/u/proj/deep/l ../../.netrc":                            true,
		"l /home/u/proj/l .env":                                         true,
		"l /home/u/proj/l /home/u/other/.env":                           true,
		"l /home/u/proj/l m\nl /home/u/proj/m /home/u/.ssh/id":          true,
		"l /home/u/proj/node_modules/.bin/l /home/u/.ssh/id":            false, // npm makes these links
		"d /data/ssh\nf /data/ssh/id\nl /home/u/proj/l /home/u/own/key": true,
	} {
		server := aServer + "[servers.s.access]\nsensitive_paths = [\"~/own\"]\n[[servers.s.access.fs]]\npath = \".\"\nread = true\n"
		if p, _ := mustResolve(t, newFake(aSystem, secrets+link), server); p.LinksAstray != want {
			t.Errorf("%q: %v", link, p.LinksAstray)
		}
	}
	granted := fsRules(".:rw", "~/.ssh/id:r")
	if p, _ := mustResolve(t, newFake(aSystem, secrets+"l /home/u/proj/l /home/u/.ssh/id"), granted); p.LinksAstray {
		t.Error("a link to a granted path counts as astray")
	}
}

// TestSensitiveName tests which paths belong to a sensitive path: those of each list, of the user, of
// secrets and of mcp-jail itself, and what leads there.
func TestSensitiveName(t *testing.T) {
	h := newFake(aSystem, `
		f /home/u/.ssh/id
		f /home/u/.config/google-chrome-beta/Default/Cookies
		f /data/chrome/Cookies
		l /home/u/.config/google-chrome /data/chrome
		l /home/u/proj/data ../.ssh
		d /home/u/vault
		f /home/u/.config/gitlab-token
		f /data/token
		l /home/u/other-token /data/token`).host()
	with := func(file string) []policy.NetRule {
		return []policy.NetRule{{Secrets: []policy.Secret{{Env: "T", File: file}}}}
	}
	p := &policy.Policy{Sensitive: []string{"~/vault", "keys/*.pem", "**/*.kdbx"}, Net: with("~/.config/gitlab-token"), Others: []*policy.Policy{{Net: with("~/other-token")}}, Kept: []string{"~/kept-token"}}
	for name, want := range map[string]string{
		"/home/u/.config/gitlab-token": "~/.config/gitlab-token", "/home/u/.config/gitlab-token2": "", "/home/u/other-token": "~/other-token", "/data/token": "~/other-token", "/home/u/kept-token": "~/kept-token",
		"/home/u/vault": "~/vault", "~/vault/my.kdbx": "**/*.kdbx", "~/vault/x/y": "~/vault", "/home/u/my.kdbx": "**/*.kdbx", "/home/u/proj/keys/a.pem": "keys/*.pem", "keys/a.pem": "keys/*.pem", "/home/u/keys/a.pem": "",
		"/home/u/proj/data": "~/.ssh", "/home/u/proj/data/id": "~/.ssh", "/home/u/.SSH/id": "~/.ssh", "/home/u/proj/../.ssh": "~/.ssh",
		"/home/u/.config/google-chrome-beta/Default": "~/.config/google-chrome*", "/data/chrome/Cookies": "~/.config/google-chrome*", "/home/u/.config/google-chrome-new": "~/.config/google-chrome*", "/home/u/.config/googlex": "",
		"/home/u/.local/state/mcp-jail/trust.toml": "~/.local/state/mcp-jail", "/home/u/.config/mcp-jail": "~/.config/mcp-jail", "/home/u/.cache/mcp-jail/x": "~/.cache/mcp-jail", "/etc/mcp-jail/config.toml": "/etc/mcp-jail",
		"/home/v/.ssh": "**/.ssh", "/backup/u/.aws/credentials": "**/.aws", "/etc/shadow": "/etc/shadow", "/etc/shells": "", "/home/u/proj": "", "/home": "",
		"/home/u/.thunderbird": "~/.thunderbird", "/home/u/.zhistory": "~/.zhistory",
	} {
		if got := Sensitive(&h, p, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	p = &policy.Policy{}
	for name, want := range map[string]string{
		"/home/u/.ssh": "~/.ssh", "/home/u/.ssh/id": "~/.ssh", "/home/u/.sshfoo": "", "/home/u": "", "/": "",
		"/home/u/.cargo/credentials.toml": "~/.cargo/credentials*", "/home/u/p/.env": "**/.env", "/home/u/p/.env/x": "**/.env",
		"/home/u/p/.env.example": "", "/home/u/p/../.aws/x": "~/.aws", "/etc/ssl/private/key": "/etc/ssl/private",
		"/home/u/Library/Cookies": "",
	} {
		if got := Sensitive(&h, p, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	h.OS = "darwin"
	if got := Sensitive(&h, p, "/home/u/Library/Cookies/x"); got != "~/Library/Cookies" {
		t.Error(got)
	}
}
