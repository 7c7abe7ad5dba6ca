package resolve

import (
	"hash/fnv"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// aMac is a small macOS on Apple silicon, without developer tools.
const aMac = `
l /etc private/etc
l /tmp private/tmp
l /var private/var
d /private/tmp
d /private/var/db/dyld
f /private/var/db/timezone/zoneinfo/UTC
l /private/var/select/sh /bin/bash
f /private/etc/passwd
f /private/etc/hosts
f /private/etc/ssl/cert.pem
f /private/etc/master.passwd
l /private/etc/localtime /var/db/timezone/zoneinfo/UTC
x /bin/sh
x /bin/bash
x /usr/bin/env
x /usr/bin/true
x /usr/bin/git
x /usr/bin/python3
x /usr/bin/make
f /usr/lib/dyld
f /usr/share/misc/magic
d /usr/local
f /System/Library/CoreServices/SystemVersion.plist
d /System/Volumes/Data
d /System/Volumes/Preboot/Cryptexes
d /System/Cryptexes
d /Library/Apple
d /Library/Frameworks
f /Library/Preferences/com.apple.dt.Xcode.plist
d /Library/LaunchDaemons
d /Applications
d /Volumes
d /Users/Shared
d /Users/u/proj
d /Users/u/Library/Keychains
d /Users/u/Library/LaunchAgents
d /Users/u/Library/Messages
x /opt/homebrew/bin/mcp-jail
`

// aHomebrew is what Homebrew has of node, with the data of a service.
const aHomebrew = `
l /opt/homebrew/bin/node ../Cellar/node/24.1.0/bin/node
l /opt/homebrew/bin/npx ../Cellar/node/24.1.0/bin/npx
l /opt/homebrew/opt/node ../Cellar/node/24.1.0
x /opt/homebrew/Cellar/node/24.1.0/bin/node
x /opt/homebrew/Cellar/node/24.1.0/bin/npx #!/usr/bin/env node\n
f /opt/homebrew/lib/libuv.dylib
f /opt/homebrew/etc/openssl@3/cert.pem
f /opt/homebrew/etc/my.cnf
f /opt/homebrew/var/postgres/PG_VERSION
`

// onDataVolume are the firmlinks of macOS that the tests need.
var onDataVolume = []string{"/Users", "/private", "/opt", "/Applications", "/Library", "/Volumes", "/usr/local"}

// macName finds the name that a disk of macOS has for a path: it ignores case and Unicode forms, and
// shows the data volume a second time.
func (h fakeHost) macName(p string) string {
	const data = "/System/Volumes/Data"
	if len(p) > len(data) && strings.EqualFold(p[:len(data)], data) {
		usual := h.macName(p[len(data):])
		if slices.ContainsFunc(onDataVolume, func(dir string) bool { return policy.Within(usual, dir) }) {
			return usual
		}
	}
	if _, ok := h[p]; ok {
		return p
	}
	at := "/"
	for name := range strings.SplitSeq(p[1:], "/") {
		next := path.Join(at, name)
		if _, ok := h[next]; !ok {
			folded := fold(name)
			for other := range h {
				if dir, base := hostfs.Split(other); dir == at && fold(base) == folded {
					next = other
				}
			}
		}
		at = next
	}
	return at
}

// fold returns a name as a disk of macOS compares it.
func fold(name string) string { return strings.ToLower(norm.NFD.String(name)) }

// mac returns a host of macOS with these files. A client with a window started mcp-jail.
func (h fakeHost) mac() hostfs.Host {
	at := h.host()
	plain := at
	at.Lstat = func(p string) (hostfs.FileInfo, error) {
		info, err := plain.Lstat(h.macName(p))
		sum := fnv.New32()
		sum.Write([]byte(h.macName(p)))
		info.ID.Ino = uint64(sum.Sum32())
		if err != nil {
			info = hostfs.FileInfo{}
		}
		return info, err
	}
	at.Readlink = func(p string) (string, error) { return plain.Readlink(h.macName(p)) }
	at.ReadDir = func(p string) ([]hostfs.DirEntry, error) { return plain.ReadDir(h.macName(p)) }
	at.ReadHead = func(p string, n int) ([]byte, error) { return plain.ReadHead(h.macName(p), n) }
	at.OS, at.UID, at.Home, at.Dir = "darwin", 501, "/Users/u", "/Users/u/proj"
	at.Environ = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/Users/u", "TMPDIR=/var/folders/zz/x/T/", "__CF_USER_TEXT_ENCODING=0x1F5:0x0:0x0", "XPC_FLAGS=0x0", "XPC_SERVICE_NAME=application.x", "SSH_AUTH_SOCK=/private/tmp/com.apple.launchd.x/Listeners", "DYLD_INSERT_LIBRARIES=/x", "SHELL=/bin/zsh"}
	at.ConfigDir, at.StateDir, at.CacheDir, at.DataDir = "/Users/u/.config/mcp-jail", "/Users/u/.local/state/mcp-jail", "/Users/u/.cache/mcp-jail", "/Users/u/.local/share/mcp-jail"
	at.Executable = "/opt/homebrew/bin/mcp-jail"
	return at
}

// onMac resolves one server named "s" on a Mac.
func onMac(t *testing.T, h fakeHost, toml string, edit ...func(*hostfs.Host)) (*policy.Profile, []policy.Warning, error) {
	t.Helper()
	return resolveFake(t, h, toml, append([]func(*hostfs.Host){func(at *hostfs.Host) { *at = h.mac() }}, edit...)...)
}

func mustOnMac(t *testing.T, h fakeHost, toml string, edit ...func(*hostfs.Host)) (*policy.Profile, []policy.Warning) {
	t.Helper()
	p, ws, err := onMac(t, h, toml, edit...)
	if err != nil {
		t.Fatalf("Resolve: %v", err)
	}
	return p, ws
}
