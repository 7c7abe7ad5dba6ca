package diagnostics

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// fakeHost returns someHost as policy.Host. Paths that end in "/" are directories, and so
// are paths with something in them.
func fakeHost(files []string) hostfs.Host {
	modes := map[string]fs.FileMode{"/": fs.ModeDir | 0o755}
	for _, f := range files {
		modes[path.Clean(f)] = 0o755
		if strings.HasSuffix(f, ".sock") {
			modes[path.Clean(f)] = fs.ModeSocket | 0o755
		}
		if strings.HasSuffix(f, "/") {
			modes[path.Clean(f)] = fs.ModeDir | 0o755
		}
		for dir := path.Dir(path.Clean(f)); ; dir = path.Dir(dir) {
			modes[dir] = fs.ModeDir | 0o755
			if dir == "/" {
				break
			}
		}
	}
	names := make([]string, 0, len(modes))
	for p := range modes {
		names = append(names, p)
	}
	slices.Sort(names)
	missing := func(op, p string) error { return &fs.PathError{Op: op, Path: p, Err: fs.ErrNotExist} }
	return hostfs.Host{
		Lstat: func(p string) (hostfs.FileInfo, error) {
			if m, ok := modes[p]; ok {
				at, _ := slices.BinarySearch(names, p)
				return hostfs.FileInfo{Mode: m, ID: policy.FileID{Dev: 1, Ino: uint64(at + 1)}}, nil
			}
			return hostfs.FileInfo{}, missing("lstat", p)
		},
		Readlink: func(p string) (string, error) { return "", missing("readlink", p) },
		ReadDir: func(p string) (out []hostfs.DirEntry, err error) {
			if _, ok := modes[p]; !ok {
				return nil, missing("open", p)
			}
			for _, n := range names {
				if n != "/" && path.Dir(n) == p {
					out = append(out, hostfs.DirEntry{Name: path.Base(n), Type: modes[n].Type()})
				}
			}
			return out, nil
		},
		ReadHead: func(string, int) ([]byte, error) { return []byte("\x7fELF"), nil },
		OS:       "linux", UID: 1000, User: "u", Home: "/home/u", Dir: "/home/u/work",
		Environ:   []string{"HOME=/home/u", "PATH=/usr/bin:/opt/tools/bin", "FOO_TOKEN=abcdefgh", "EDITOR=vi"},
		ConfigDir: "/home/u/.config/mcp-jail", StateDir: "/home/u/.local/state/mcp-jail", CacheDir: "/home/u/.cache/mcp-jail", Executable: "/usr/local/bin/mcp-jail",
	}
}

var hostFiles = []string{
	"/usr/bin/node", "/usr/bin/git", "/opt/tools/bin/rg", "/usr/local/bin/mcp-jail", "/etc/passwd",
	"/home/u/work/src/lib.rs", "/home/u/work/.env", "/home/u/work/.git/hooks/", "/home/u/work/.git/config", "/home/u/work/out.txt",
	"/home/u/notes/a.md", "/home/u/.ssh/id_rsa", "/home/u/docs/", "/home/u/it's [here]/b", "/home/u/\"q\"\\b.txt", "/home/u/zażółć.txt",
	"/data/notes/x.md", "/home/u/.local/state/mcp-jail/", "/run/docker.sock", "/tmp/shared.sock",
}
