package runtime

import (
	"context"
	"hash/fnv"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// mac returns a host of macOS with these programs, which belong to the user and the group of
// administrators; "l PATH TARGET" is a link. A client with a window started mcp-jail.
func mac(lines ...string) *hostfs.Host {
	modes, targets := map[string]fs.FileMode{"/": fs.ModeDir | 0o755}, map[string]string{}
	for _, line := range lines {
		file, target, isLink := strings.Cut(line, " -> ")
		if file == "" {
			continue
		}
		for dir := path.Dir(file); dir != "/"; dir = path.Dir(dir) {
			modes[dir] = fs.ModeDir | 0o775
		}
		if modes[file] = 0o755; isLink {
			modes[file], targets[file] = fs.ModeSymlink|0o755, target
		}
	}
	stat := func(p string) (hostfs.FileInfo, error) {
		mode, ok := modes[p]
		if !ok {
			return hostfs.FileInfo{}, &fs.PathError{Op: "lstat", Path: p, Err: fs.ErrNotExist}
		}
		sum := fnv.New32()
		sum.Write([]byte(p))
		return hostfs.FileInfo{Mode: mode, UID: 501, GID: 80, ID: policy.FileID{Ino: uint64(sum.Sum32())}}, nil
	}
	return &hostfs.Host{OS: "darwin", UID: 501, Home: "/Users/u", Dir: "/", Environ: []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}, Lstat: stat,
		Readlink: func(p string) (string, error) { return targets[p], nil },
		ReadDir: func(p string) (out []hostfs.DirEntry, err error) {
			for file, mode := range modes {
				if file != "/" && path.Dir(file) == p {
					out = append(out, hostfs.DirEntry{Name: path.Base(file), Type: mode.Type()})
				}
			}
			return out, nil
		},
		ReadHead: func(string, int) ([]byte, error) { return nil, fs.ErrNotExist },
	}
}

// TestMac tests what is found for a client with a window, and that a stand-in of macOS is never asked
// for its version: it would open a dialog.
func TestMac(t *testing.T) {
	const tools = "/Library/Developer/CommandLineTools/usr/bin/python3"
	for _, c := range []struct {
		lang    Language
		files   string
		want    string // the default
		all     int
		refused string
	}{
		{Node, "", "", 0, ""},
		{Node, "/opt/homebrew/bin/node -> ../Cellar/node/24.1.0/bin/node|/opt/homebrew/Cellar/node/24.1.0/bin/node", "/opt/homebrew/Cellar/node/24.1.0/bin/node", 1, ""},
		{Node, "/usr/local/bin/node -> ../Cellar/node/24.1.0/bin/node|/usr/local/Cellar/node/24.1.0/bin/node|/usr/local/opt/node@22/bin/node", "/usr/local/Cellar/node/24.1.0/bin/node", 2, ""},
		{Node, "/Users/u/.nvm/versions/node/v24.1.0/bin/node|/Users/u/Library/Application Support/fnm/node-versions/v22.1.0/installation/bin/node", "", 2, ""},
		{Python, "/usr/bin/python3", "", 0, "xcode-select --install"},
		{Python, "/usr/bin/python3|/opt/homebrew/bin/python3", "/opt/homebrew/bin/python3", 1, "xcode-select --install"},
		{Python, "/usr/bin/python3|" + tools, tools, 1, ""},
		{Python, "/Users/u/.local/share/uv/python/cpython-3.13.1-macos-aarch64-none/bin/python3|/opt/homebrew/opt/python@3.12/bin/python3.12", "", 2, ""},
	} {
		asked := func(_ context.Context, file string) (string, error) {
			if strings.HasPrefix(file, "/usr/bin/") {
				t.Errorf("%s is run", file)
			}
			return "3.12.1", nil
		}
		found, err := Finder{Host: mac(strings.Split(c.files, "|")...), Version: asked}.Find(t.Context(), c.lang)
		got, refused := "", ""
		for _, i := range found.Interpreters {
			if i.Default {
				got = i.Path
			}
		}
		for _, r := range found.Refused {
			refused += r.Reason
		}
		if err != nil || got != c.want || len(found.Interpreters) != c.all || !strings.Contains(refused, c.refused) || (c.refused == "") != (refused == "") {
			t.Errorf("%s of %s: %q of %v, refused %q, %v", c.lang, c.files, got, found.Interpreters, refused, err)
		}
	}
}
