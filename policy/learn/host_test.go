package learn

import (
	"hash/fnv"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// aHost is a filesystem in a map, from a path to its mode: 0 is a file, fs.ModeDir a directory.
type aHost map[string]aFile

type aFile struct {
	mode fs.FileMode
	text string
}

// system has what every host of the tests has. A path that ends with a slash is a directory, one with
// a "*" a program, and "a -> b" is a symbolic link.
const system = `
/usr/bin/server* /usr/bin/node* /usr/bin/git* /usr/bin/rg* /usr/bin/dash* /usr/bin/curl* /usr/bin/python3.11*
/usr/lib/libc.so /usr/share/zoneinfo/UTC /etc/passwd /etc/nsswitch.conf /etc/hosts /etc/gitconfig /etc/app/one.conf
/etc/ssl/certs/ /etc/ssl/private/ /tmp/ /sys/fs/cgroup/memory.max /run/docker.sock /srv/data/one.csv
/home/u/proj/ /home/u/.ssh/id_rsa /home/u/.ssh/config /home/u/.aws/credentials /home/u/.config/ /home/u/.cache/ /home/u/.local/share/
/home/u/notes/a.md /home/u/notes/b.md /home/u/notes/c.md /home/u/notes/deep/d.md /home/u/.gitconfig /home/u/.config/app/settings.json
/home/u/.profile /srv/data/libx.so /home/other/secret.txt /home/u/one.txt /home/u/two.txt /home/u/three.txt
/home/u/proj/.env /home/u/proj/README.md /home/u/proj/src/a.go /home/u/proj/src/b.go /home/u/proj/src/c.go /home/u/proj/src/lib/x.go
/home/u/proj/out/report.txt /home/u/proj/data.db /home/u/proj/.git/config /home/u/proj/.git/HEAD /home/u/proj/.git/objects/aa/ /home/u/proj/guide/index.html
`

func newHost(words ...string) aHost {
	h := aHost{"/": {mode: fs.ModeDir | 0o755}, "/usr/bin/tool": {0o755, "#!/usr/bin/python3 -I\n"}, "/usr/bin/python3": {fs.ModeSymlink | 0o777, "python3.11"}, "/usr/bin/sh": {fs.ModeSymlink | 0o777, "dash"}, "/bin": {fs.ModeSymlink | 0o777, "usr/bin"}}
	for _, word := range strings.Fields(system + strings.Join(words, " ")) {
		p := strings.TrimRight(word, "/*")
		switch {
		case strings.HasSuffix(word, "/"):
			h[p] = aFile{mode: fs.ModeDir | 0o755}
		case strings.HasSuffix(word, "*"):
			h[p] = aFile{0o755, "\x7fELF\x02\x01\x01\x00"}
		case strings.HasSuffix(word, ".sock"):
			h[p] = aFile{mode: fs.ModeSocket | 0o755}
		default:
			h[p] = aFile{mode: 0o644}
		}
		for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
			h[dir] = aFile{mode: fs.ModeDir | 0o755}
		}
	}
	return h
}

func (h aHost) get(op, p string) (aFile, error) {
	if f, ok := h[p]; ok {
		return f, nil
	}
	return aFile{}, &fs.PathError{Op: op, Path: p, Err: fs.ErrNotExist}
}

func (h aHost) host() hostfs.Host {
	return hostfs.Host{
		Lstat: func(p string) (hostfs.FileInfo, error) {
			f, err := h.get("lstat", p)
			sum := fnv.New64()
			sum.Write([]byte(p))
			return hostfs.FileInfo{Mode: f.mode, ID: policy.FileID{Dev: 1, Ino: sum.Sum64()}}, err
		},
		Readlink: func(p string) (string, error) { f, err := h.get("readlink", p); return f.text, err },
		ReadDir: func(p string) (out []hostfs.DirEntry, err error) {
			for name, f := range h {
				if name != "/" && path.Dir(name) == p {
					out = append(out, hostfs.DirEntry{Name: path.Base(name), Type: f.mode.Type()})
				}
			}
			_, err = h.get("readdir", p)
			return out, err
		},
		ReadHead: func(p string, n int) ([]byte, error) {
			f, err := h.get("read", p)
			return []byte(f.text[:min(n, len(f.text))]), err
		},
		OS: "linux", UID: 1000, User: "u", Home: "/home/u", Dir: "/home/u/proj", Environ: []string{"PATH=/usr/bin:/bin", "HOME=/home/u", "API_KEY=k", "OTHER=o"},
		ConfigDir: "/home/u/.config/mcp-jail", StateDir: "/home/u/.local/state/mcp-jail", CacheDir: "/home/u/.cache/mcp-jail", DataDir: "/home/u/.local/share/mcp-jail", Executable: "/usr/local/bin/mcp-jail",
	}
}

// profile decodes the server s and resolves it, or one of its tools.
func (h aHost) profile(t testing.TB, text, tool string) *policy.Profile {
	t.Helper()
	c, err := config.Decode([]byte(text), "c.toml")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p, err := c.Policy("s", tool)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	out, _, err := resolve.Resolve(p, h.host())
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

func (h aHost) sorted() []string { return slices.Sorted(maps.Keys(h)) }
