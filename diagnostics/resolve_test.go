package diagnostics

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
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

func onHost(p string) bool {
	_, err := fakeHost(hostFiles).Lstat(p)
	return err == nil
}

// TestRoundTrip uses the real policy: the diagnosis names what the profile refuses, the
// lines are added, and the new profile allows it and everything that the old one allowed.
func TestRoundTrip(t *testing.T) {
	const (
		plain    = "[servers.s]\ncommand = \"node\"\n"
		explicit = plain + "\n[[servers.s.access.fs]]\npath = \".\"\nread = true\nwrite = true\n\n[[servers.s.access.fs]]\npath = \"src\"\ndeny = \"write\"\n"
		perCall  = plain + "stateful = false\n"
		scripts  = plain + "\n[[servers.s.access.fs]]\npath = \".\"\nread = true\nexecute = true\n"
	)
	for _, tt := range []struct {
		name, base, tool, text string
		op                     policy.Op
		path                   string
	}{
		{"read", explicit, "", "EACCES: permission denied, open '/home/u/notes/a.md'", policy.OpRead, "/home/u/notes/a.md"},
		{"list", plain, "", "ENOENT: no such file or directory, scandir '/home/u/notes'", policy.OpList, "/home/u/notes"},
		{"write where scripts are started", scripts, "", "EROFS: read-only file system, open '/home/u/work/out.txt'", policy.OpWrite, "/home/u/work/out.txt"},
		{"create outside", plain, "", "EACCES: permission denied, copyfile '/home/u/work/out.txt' -> '/home/u/docs/new'", policy.OpCreate, "/home/u/docs/new"},
		{"mkdir outside", plain, "", "EACCES: permission denied, mkdir '/home/u/docs/new'", policy.OpCreate, "/home/u/docs/new/x"},
		{"execute", explicit, "", "spawn rg ENOENT", policy.OpExec, "/opt/tools/bin/rg"},
		{"one tool", perCall, "find", "EACCES: permission denied, open '/home/u/notes/a.md'", policy.OpRead, "/home/u/notes/a.md"},
		{"odd characters", explicit, "", "EACCES: permission denied, open '/home/u/it's [here]/b'", policy.OpRead, "/home/u/it's [here]/b"},
		{"odder ones", explicit, "", `EACCES: permission denied, open '/home/u/"q"\b.txt'`, policy.OpRead, `/home/u/"q"\b.txt`},
		{"unicode", explicit, "", "EACCES: permission denied, open '/home/u/zażółć.txt'", policy.OpRead, "/home/u/zażółć.txt"},
		{"rename over", plain, "", "EACCES: permission denied, rename '/home/u/work/out.txt' -> '/data/notes/x.md'", policy.OpWrite, "/data/notes/x.md"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := resolved(t, tt.base, tt.tool, nil)
			if before.Allows(tt.op, tt.path) {
				t.Fatalf("the control fails: %s of %s is allowed from the beginning", tt.op, tt.path)
			}
			d := Diagnose(Evidence{Stage: StageCall, Server: "s", Tool: tt.tool, Profile: before, Stateless: tt.tool != "", Text: tt.text, UserHome: "/home/u", SearchPath: "/usr/bin:/opt/tools/bin", Exists: onHost, Harm: judge(&policy.Policy{}, fakeHost(hostFiles))})
			if d.Attribution != Likely {
				t.Fatalf("attribution %s\n%s", d.Attribution, d.Text())
			}
			after := resolved(t, tt.base, tt.tool, d.Words)
			if !after.Allows(tt.op, tt.path) {
				t.Errorf("%s of %s is still refused:\n%s", tt.op, tt.path, strings.Join(d.Words, "\n"))
			}
			for _, f := range hostFiles {
				f = path.Clean(f)
				for op := policy.OpRead; op <= policy.OpRemove; op++ {
					// The path of a rule is pinned: it cannot be removed any more.
					if op != policy.OpRemove && op != policy.OpCreate && op != policy.OpMkdir && before.Allows(op, f) && !after.Allows(op, f) {
						t.Errorf("the lines take %s of %s away:\n%s", op, f, strings.Join(d.Words, "\n"))
					}
				}
			}
		})
	}
}

func resolved(t *testing.T, file, tool string, words []string) *policy.Profile {
	t.Helper()
	c, err := config.Decode([]byte("version = 1\n"+file), "mcp-jail.toml")
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	if err := granting(c.Servers["s"], tool, words); err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	p, err := c.Policy("s", tool)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	profile, warnings, err := resolve.Resolve(p, fakeHost(hostFiles))
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	for _, w := range warnings {
		t.Log(w)
	}
	return profile
}
