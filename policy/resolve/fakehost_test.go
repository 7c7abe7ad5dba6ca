package resolve

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"path"
	"sort"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// fakeHost is a filesystem in a map. It panics when Resolve breaks the contract of Host:
// paths must be absolute and clean, and Resolve must resolve symbolic links itself.
type fakeHost map[string]fakeFile

type fakeFile struct {
	mode   fs.FileMode
	text   string // content, or target of a link
	denied bool
}

const elf = "\x7fELF\x02\x01\x01\x00"

// newFake builds a host from lines: "d PATH", "f PATH [text]" (mode 0644), "x PATH [text]"
// (mode 0755; an ELF file without text), "l PATH TARGET", "p PATH" (a fifo), "s PATH" (a
// socket), "c PATH" and "b PATH" (a character and a block device), "0 PATH" (a directory that cannot
// be read), "t PATH" (a setuid program).
func newFake(lines ...string) fakeHost {
	h := fakeHost{"/": {mode: fs.ModeDir | 0o755}}
	for _, block := range lines {
		for _, line := range strings.Split(block, "\n") {
			h.add(strings.TrimSpace(line))
		}
	}
	return h
}

func (h fakeHost) add(line string) {
	if line == "" {
		return
	}
	kind, rest, _ := strings.Cut(line, " ")
	name, text, _ := strings.Cut(rest, " ")
	name = strings.ReplaceAll(name, "%20", " ")
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		if _, ok := h[dir]; !ok {
			h[dir] = fakeFile{mode: fs.ModeDir | 0o755}
		}
	}
	text = strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(text)
	switch kind {
	case "d":
		h[name] = fakeFile{mode: fs.ModeDir | 0o755}
	case "f":
		h[name] = fakeFile{mode: 0o644, text: text}
	case "x":
		if text == "" {
			text = elf
		}
		h[name] = fakeFile{mode: 0o755, text: text}
	case "l":
		h[name] = fakeFile{mode: fs.ModeSymlink | 0o777, text: text}
	case "p":
		h[name] = fakeFile{mode: fs.ModeNamedPipe | 0o644}
	case "s":
		h[name] = fakeFile{mode: fs.ModeSocket | 0o755}
	case "c":
		h[name] = fakeFile{mode: fs.ModeDevice | fs.ModeCharDevice | 0o666}
	case "b":
		h[name] = fakeFile{mode: fs.ModeDevice | 0o666}
	case "t":
		h[name] = fakeFile{mode: fs.ModeSetuid | 0o755}
	case "0":
		h[name] = fakeFile{mode: fs.ModeDir, denied: true}
	default:
		panic("fake: " + line)
	}
}

func (h fakeHost) check(op, p string) error {
	if !strings.HasPrefix(p, "/") || path.Clean(p) != p {
		panic(fmt.Sprintf("fake host: %s(%q): not absolute and clean", op, p))
	}
	for dir, _ := hostfs.Split(p); dir != "/"; dir, _ = hostfs.Split(dir) {
		at := h[dir]
		if at.mode&fs.ModeSymlink != 0 {
			panic(fmt.Sprintf("fake host: %s(%q): through the link %s", op, p, dir))
		}
		if at.denied {
			return &fs.PathError{Op: op, Path: p, Err: fs.ErrPermission}
		}
	}
	if _, ok := h[p]; !ok {
		return &fs.PathError{Op: op, Path: p, Err: fs.ErrNotExist}
	}
	return nil
}

func (h fakeHost) host() hostfs.Host {
	return hostfs.Host{
		Lstat: func(p string) (hostfs.FileInfo, error) {
			if err := h.check("lstat", p); err != nil {
				return hostfs.FileInfo{}, err
			}
			sum := fnv.New32()
			sum.Write([]byte(p))
			return hostfs.FileInfo{Mode: h[p].mode, ID: policy.FileID{Dev: 1, Ino: uint64(sum.Sum32())}}, nil
		},
		Readlink: func(p string) (string, error) {
			if err := h.check("readlink", p); err != nil {
				return "", err
			}
			if h[p].mode&fs.ModeSymlink == 0 {
				panic("fake host: readlink of " + p)
			}
			return h[p].text, nil
		},
		ReadDir: func(p string) ([]hostfs.DirEntry, error) {
			if err := h.check("readdir", p); err != nil {
				return nil, err
			}
			if !h[p].mode.IsDir() {
				return nil, &fs.PathError{Op: "readdir", Path: p, Err: fs.ErrInvalid}
			}
			if h[p].denied {
				return nil, &fs.PathError{Op: "readdir", Path: p, Err: fs.ErrPermission}
			}
			var out []hostfs.DirEntry
			for name, f := range h { // in map order, as the contract allows
				if name != "/" && path.Dir(name) == p {
					out = append(out, hostfs.DirEntry{Name: path.Base(name), Type: f.mode.Type()})
				}
			}
			return out, nil
		},
		ReadHead: func(p string, n int) ([]byte, error) {
			if err := h.check("read", p); err != nil {
				return nil, err
			}
			if !h[p].mode.IsRegular() {
				panic("fake host: read of " + p)
			}
			text := h[p].text
			return []byte(text[:min(n, len(text))]), nil
		},
		OS: "linux", UID: 1000, User: "u", Home: "/home/u", Dir: "/home/u/proj",
		Environ:   []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/u", "LANG=de_DE.UTF-8", "GH_TOKEN=ghp_x", "SECRET=s", "EDITOR=vi"},
		ConfigDir: "/home/u/.config/mcp-jail", StateDir: "/home/u/.local/state/mcp-jail", CacheDir: "/home/u/.cache/mcp-jail", Executable: "/usr/local/bin/mcp-jail",
	}
}

// aSystem is a small Debian.
const aSystem = `
x /usr/bin/server
x /usr/bin/node
x /usr/bin/env
x /usr/bin/bash
x /usr/bin/python3.11
l /usr/bin/python3 python3.11
x /usr/local/bin/mcp-jail
f /usr/lib/libc.so
l /usr/bin/npx ../lib/node_modules/npm/bin/npx-cli.js
x /usr/lib/node_modules/npm/bin/npx-cli.js #!/usr/bin/env node\n
f /usr/share/zoneinfo/UTC
l /bin usr/bin
l /lib usr/lib
l /etc/localtime /usr/share/zoneinfo/UTC
f /etc/passwd
f /etc/nsswitch.conf
f /etc/hosts
f /etc/shadow
d /etc/ssl/certs
d /etc/ssl/private
d /tmp
d /home/u/proj
`

func (h fakeHost) paths() []string {
	var out []string
	for p := range h {
		out = append(out, p)
	}
	sort.Strings(out)
	return out
}

// resolveFake decodes one server named "s" and resolves it.
func resolveFake(t *testing.T, h fakeHost, toml string, edit ...func(*hostfs.Host)) (*policy.Profile, []policy.Warning, error) {
	t.Helper()
	return resolveTool(t, h, toml, "", edit...)
}

func resolveTool(t *testing.T, h fakeHost, toml, tool string, edit ...func(*hostfs.Host)) (*policy.Profile, []policy.Warning, error) {
	t.Helper()
	c, err := config.Decode([]byte(toml), "c.toml")
	if err != nil {
		return nil, nil, err
	}
	p, err := c.Policy("s", tool)
	if err != nil {
		return nil, nil, err
	}
	host := h.host()
	for _, e := range edit {
		e(&host)
	}
	return Resolve(p, host)
}

func mustResolve(t *testing.T, h fakeHost, toml string, edit ...func(*hostfs.Host)) (*policy.Profile, []policy.Warning) {
	t.Helper()
	p, ws, err := resolveFake(t, h, toml, edit...)
	if err != nil {
		t.Fatalf("Resolve: %v", err)
	}
	return p, ws
}

func codes(ws []policy.Warning) string {
	var out []string
	for _, w := range ws {
		out = append(out, w.Code)
	}
	return strings.Join(out, " ")
}
