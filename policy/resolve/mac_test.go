package resolve

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

const rx = policy.Read | policy.Execute

// hold checks rights at paths.
func hold(t *testing.T, p *policy.Profile, want map[string]policy.Rights) {
	t.Helper()
	for name, rights := range want {
		if got := p.RightsAt(name); got != rights {
			t.Errorf("%s: %s, want %s", name, got, rights)
		}
	}
}

// TestMacBaseline tests what every server gets on macOS: programs and libraries to start, other files
// to read, and nothing of the data volume by its second name.
func TestMacBaseline(t *testing.T) {
	p, _ := mustOnMac(t, newFake(aMac, aHomebrew), "[servers.s]\ncommand = \"/usr/bin/true\"\n")
	hold(t, p, map[string]policy.Rights{
		"/usr/bin/true": rx, "/bin/sh": rx, "/usr/lib/dyld": rx, "/System/Library/CoreServices": rx, "/Library/Frameworks": rx,
		"/usr/share/misc/magic": policy.Read, "/private/etc/ssl/cert.pem": policy.Read, "/private/etc/hosts": policy.Read, "/private/var/db/timezone/zoneinfo/UTC": policy.Read,
		"/Library/Preferences/com.apple.dt.Xcode.plist": policy.Read,
		"/opt/homebrew/Cellar/node":                     rx, "/opt/homebrew/etc/openssl@3/cert.pem": policy.Read,
		"/opt/homebrew/var/postgres": 0, "/opt/homebrew/etc/my.cnf": 0, "/private/etc/master.passwd": 0, "/private/tmp": 0, "/private/var/db": 0, "/private/var/folders": 0,
		"/System": 0, "/System/Volumes/Data": 0, "/System/Volumes/Data/Users/u/.ssh": 0, "/": 0, "/usr": 0, "/usr/local": 0, "/Applications": 0, "/Volumes": 0, "/Users/u": 0,
		"/Users/u/proj": policy.Read | policy.Write,
	})
	if !slices.Contains(p.Links, policy.Link{Path: "/etc", Target: "private/etc"}) {
		t.Errorf("the link /etc is not made: %v", p.Links)
	}
}

// TestMacData tests that a directory that is only read does not take the right to start a program that
// is in it.
func TestMacData(t *testing.T) {
	p, _ := mustOnMac(t, newFake(aMac, "x /usr/share/tool/run"), "[servers.s]\ncommand = \"/usr/share/tool/run\"\n")
	hold(t, p, map[string]policy.Rights{"/usr/share/tool/run": rx, "/usr/share/misc": policy.Read})
}

// TestMacSecondNames tests that rules and workspaces get the path that the kernel compares, however they
// are written: by the data volume, by the links of /, in another case or another Unicode form.
func TestMacSecondNames(t *testing.T) {
	nfd := norm.NFD.String("/Users/u/Bücher")
	h := newFake(aMac, "d /private/tmp/w", "d "+nfd+"/a", "d /Volumes/Work/Src", "d /private/etc/foo", "l /Users/u/link /System/Volumes/Data/Users/u/proj")
	for written, want := range map[string]string{
		"/tmp/w": "/private/tmp/w", "/private/tmp/w": "/private/tmp/w", "/TMP/W": "/private/tmp/w", "/etc/foo": "/private/etc/foo",
		"/System/Volumes/Data/Users/u/proj": "/Users/u/proj", "/system/volumes/data/users/U/PROJ": "/Users/u/proj", "/System/Volumes/Data/private/tmp/w": "/private/tmp/w",
		"/System/Volumes/Data/Users/u/new/": "/Users/u/new", "~/PROJ": "/Users/u/proj", "~/link": "/Users/u/proj", "/users/u/New/": "/Users/u/New",
		"~/" + norm.NFC.String("bücher/A"): nfd + "/a", nfd: nfd, norm.NFC.String(nfd): nfd,
		"/volumes/WORK/src": "/Volumes/Work/Src", "/System/Volumes/Data/Volumes/Work/Src": "/Volumes/Work/Src",
	} {
		p, ws := mustOnMac(t, h, "[servers.s]\ncommand = \"/usr/bin/true\"\nworkspace = \"/Users/u\"\n[[servers.s.access.fs]]\npath = \""+written+"\"\nread = true\ncreate = true\n")
		if e, ok := p.Find(want); !ok || e.Path != want || e.Rights != policy.Read|policy.Create || len(ws) > 0 && strings.Contains(codes(ws), "missing") {
			t.Errorf("%s: the entry is %q, want %q (%v)", written, e.Path, want, ws)
		}
		for _, e := range p.Entries {
			if policy.Within(e.Path, "/System/Volumes/Data") || strings.HasPrefix(e.Path, "/etc/") || strings.HasPrefix(e.Path, "/tmp") {
				t.Errorf("%s: entry %s", written, e.Path)
			}
		}
	}
	p, _ := mustOnMac(t, h, "[servers.s]\ncommand = \"/usr/bin/true\"\n", func(at *hostfs.Host) { at.Dir = "/tmp/w" })
	if p.Workspace != "/private/tmp/w" || p.Dir != "/private/tmp/w" {
		t.Errorf("the workspace /tmp/w is %q, the directory %q", p.Workspace, p.Dir)
	}
}

// TestMacRefusedRules tests that no rule grants all files under their second name, or names a file in a
// way that the kernel does not compare.
func TestMacRefusedRules(t *testing.T) {
	h := newFake(aMac, "d /.vol/1/2", "d /.nofollow/Users/u")
	for written, refused := range map[string]bool{
		"/": true, "/System": true, "/System/Volumes": true, "/System/Volumes/Data": true, "/SYSTEM/volumes": true, "/System/Volumes/Data/": true,
		"/.vol/1/2": true, "/.nofollow/Users/u": true, "/System/Library": false, "/Users": false, "/Volumes": false,
	} {
		_, _, err := onMac(t, h, "[servers.s]\ncommand = \"/usr/bin/true\"\n[[servers.s.access.fs]]\npath = \""+written+"\"\nread = true\n")
		var rule *RuleError
		if errors.As(err, &rule) != refused {
			t.Errorf("%s: %v", written, err)
		}
	}
	for _, written := range []string{"/", "/System/Volumes/Data"} { // taking everything away is no grant
		if _, _, err := onMac(t, h, "[servers.s]\ncommand = \"/usr/bin/true\"\n[[servers.s.access.fs]]\npath = \""+written+"\"\ndeny = true\n"); err != nil {
			t.Errorf("%s without rights: %v", written, err)
		}
	}
	if _, _, err := resolveFake(t, newFake(aSystem), "[servers.s]\ncommand = \"server\"\n[[servers.s.access.fs]]\npath = \"/\"\nread = true\n"); err != nil {
		t.Errorf("/ on Linux: %v", err)
	}
}

func variable(p *policy.Profile, name string) (value string, ok bool) {
	for _, v := range p.Env {
		if v.Name == name {
			return v.Value, true
		}
	}
	return "", false
}

// TestMacEnvironment tests which variables of a Mac pass.
func TestMacEnvironment(t *testing.T) {
	p, _ := mustOnMac(t, newFake(aMac), "[servers.s]\ncommand = \"/usr/bin/true\"\n")
	for name, want := range map[string]bool{"__CF_USER_TEXT_ENCODING": true, "SHELL": true, "TMPDIR": true, "XPC_FLAGS": false, "XPC_SERVICE_NAME": false, "SSH_AUTH_SOCK": false, "DYLD_INSERT_LIBRARIES": false} {
		value, ok := variable(p, name)
		if ok != want || strings.Contains(value, "/var/folders") {
			t.Errorf("%s: %q, %v", name, value, ok)
		}
	}
	if q, _ := mustResolve(t, newFake(aSystem), "[servers.s]\ncommand = \"server\"\n", func(h *hostfs.Host) { h.Environ = append(h.Environ, "__CF_USER_TEXT_ENCODING=0") }); true {
		if _, ok := variable(q, "__CF_USER_TEXT_ENCODING"); ok {
			t.Error("Linux passes a variable of macOS")
		}
	}
	_, ws := mustOnMac(t, newFake(aMac), "[servers.s]\ncommand = \"/usr/bin/true\"\n[[servers.s.access.env]]\nname = \"DYLD_INSERT_LIBRARIES\"\nread = true\n")
	if !strings.Contains(codes(ws), "dangerous-variable") {
		t.Errorf("DYLD_INSERT_LIBRARIES: %v", ws)
	}
}

// TestMacBun tests which directories bun may list: those above its working directory, and no others.
func TestMacBun(t *testing.T) {
	h := newFake(aMac, "x /Users/u/.bun/bin/bun", "d /Users/u/code/a/b", "f /Users/u/.ssh/id")
	const toml = "[servers.s]\ncommand = \"/Users/u/.bun/bin/bun\"\narguments = [\"run\", \"x.ts\"]\nworkspace = \"/Users/u/code/a/b\"\n"
	p, _ := mustOnMac(t, h, toml)
	if want := []string{"/Users", "/Users/u", "/Users/u/code", "/Users/u/code/a"}; !slices.Equal(p.ListOnly, want) {
		t.Errorf("bun lists %q, want %q", p.ListOnly, want)
	}
	hold(t, p, map[string]policy.Rights{"/Users/u": 0, "/Users/u/.ssh": 0, "/Users/u/code/a": 0})
	if p, _ := mustOnMac(t, h, strings.Replace(toml, "/Users/u/.bun/bin/bun", "/usr/bin/true", 1)); p.ListOnly != nil {
		t.Errorf("another program lists %q", p.ListOnly)
	}
	p, _ = mustOnMac(t, h, toml+"[[servers.s.access.fs]]\npath = \"/Users/u/code\"\ndeny = true\n")
	if slices.Contains(p.ListOnly, "/Users/u/code") || slices.Contains(p.ListOnly, "/Users/u/code/a") {
		t.Errorf("bun lists what a rule hides: %q", p.ListOnly)
	}
}

// TestMacSockets tests that a socket that is there at the start is hidden in a grant, on a Mac too, where
// nothing else keeps a server from connecting to it.
func TestMacSockets(t *testing.T) {
	h := newFake(aMac, "s /Users/u/proj/run/db.sock", "f /Users/u/proj/run/db.pid", "s /private/tmp/other.sock")
	const rule = "[[servers.s.access.fs]]\nread = true\ncreate = true\nupdate = true\npath = "
	const toml = "[servers.s]\ncommand = \"/usr/bin/true\"\n" + rule + "\"/Users/u/proj\"\n" + rule + "\"/tmp\"\n"
	p, _ := mustOnMac(t, h, toml)
	hold(t, p, map[string]policy.Rights{"/Users/u/proj/run/db.sock": 0, "/private/tmp/other.sock": 0, "/Users/u/proj/run/db.pid": policy.Read | policy.Create | policy.Update})
	if e, _ := p.Find("/private/tmp/other.sock"); e.Kind != policy.KindSpecial || e.Named != HostSocket {
		t.Errorf("%+v", e)
	}
	p, _ = mustOnMac(t, h, toml+rule+"\"/Users/u/proj/run/db.sock\"\n")
	hold(t, p, map[string]policy.Rights{"/Users/u/proj/run/db.sock": policy.Read | policy.Create | policy.Update})
}

// TestMacSensitive tests that a grant of the home directory, or of its Library, reaches neither secrets
// nor what runs outside of the jail.
func TestMacSensitive(t *testing.T) {
	hidden := []string{"Library/Keychains/login.keychain-db", "Library/Messages/chat.db", "Library/Mail/V10/x", "Library/Group Containers/x/y", "Library/Containers/x/Data", "Library/Cookies/x", "Library/HTTPStorages/x",
		"Library/Application Support/Google/Chrome Beta/Default/Cookies", "Library/Application Support/Arc/x", "Library/Application Support/1Password/x", "Library/Application Support/Claude/Local Storage/x",
		"Library/Application Support/Cursor/User/globalStorage/state.vscdb", "Library/Application Support/MobileSync/Backup/x", "Library/Safari/History.db", "Library/Accounts/x", ".ssh/id", ".zsh_history"}
	kept := []string{"Library/LaunchAgents/x.plist", "Library/Application Support/Claude/claude_desktop_config.json", "Library/Application Support/Claude/Claude Extensions/x/index.js", "Library/Application Support/Code/User/settings.json",
		"Library/Preferences/com.apple.Terminal.plist", "Library/Python/3.9/lib/python/site-packages/usercustomize.py", "Library/Services/x", ".zshrc", ".hammerspoon/init.lua", "Library/Caches/Homebrew/x"}
	free := []string{"Library/Mobile Documents/com~apple~CloudDocs/x.md", "Documents/x.md", "Library/Application Support/other/x"}
	lines := []string{aMac}
	for _, name := range slices.Concat(hidden, kept, free) {
		lines = append(lines, "f /Users/u/"+strings.ReplaceAll(name, " ", "%20"))
	}
	p, _ := mustOnMac(t, newFake(lines...), "[servers.s]\ncommand = \"/usr/bin/true\"\n[[servers.s.access.fs]]\npath = \"~\"\nread = true\ncreate = true\nupdate = true\ndelete = true\n")
	for _, name := range hidden {
		hold(t, p, map[string]policy.Rights{"/Users/u/" + name: 0})
	}
	for _, name := range kept {
		if got := p.RightsAt("/Users/u/" + name); got&policy.Write != 0 {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, name := range free {
		if got := p.RightsAt("/Users/u/" + name); got != policy.Read|policy.Write {
			t.Errorf("%s: %s", name, got)
		}
	}
	if why := Guarded(ptr(newFake(aMac).mac()), "/Library/LaunchDaemons", true); why == "" {
		t.Error("/Library/LaunchDaemons is not guarded")
	}
}

func ptr(h hostfs.Host) *hostfs.Host { return &h }

// TestMacPlaces tests where a server has no workspace by itself, and that a home on another volume, and
// a workspace there, are like any other.
func TestMacPlaces(t *testing.T) {
	h := newFake(aMac, "d /Users/Shared/w", "d /Volumes/Ext/home/u/proj", "d /Volumes/Ext/home/u/.ssh", "d /Volumes/Ext/w", "l /Users/v /Volumes/Ext/home/u")
	for dir, want := range map[string]string{
		"/": "", "/Users": "", "/Users/Shared": "", "/Users/u": "", "/Volumes": "", "/private/tmp": "", "/private/var/folders": "", "/System/Library": "", "/opt/homebrew/bin": "", "/Applications": "",
		"/Users/Shared/w": "/Users/Shared/w", "/Volumes/Ext/w": "/Volumes/Ext/w",
	} {
		p, _ := mustOnMac(t, h, "[servers.s]\ncommand = \"/usr/bin/true\"\n", func(at *hostfs.Host) { at.Dir = dir })
		if p.Workspace != want {
			t.Errorf("in %s, the workspace is %q, want %q", dir, p.Workspace, want)
		}
	}
	p, _ := mustOnMac(t, h, "[servers.s]\ncommand = \"/usr/bin/true\"\n[[servers.s.access.fs]]\npath = \"~\"\nread = true\n", func(at *hostfs.Host) { at.Home, at.Dir = "/Users/v", "/Volumes/Ext/home/u/proj" })
	hold(t, p, map[string]policy.Rights{"/Volumes/Ext/home/u/proj": policy.Read, "/Volumes/Ext/home/u/.ssh": 0})
	p, _ = mustOnMac(t, h, "[servers.s]\ncommand = \"/usr/bin/true\"\nhome = \"real\"\n", func(at *hostfs.Host) { at.Dir = "/" })
	if p.Dir != "/" {
		t.Errorf("without a workspace and a HOME of its own, the server starts in %s", p.Dir)
	}
}
