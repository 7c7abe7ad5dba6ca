package diagnose_test

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnostest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// fakeHost returns a host with some files. Paths that end in "/" are directories, and so
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

// granting adds to a server, or to one of its tools, what mcp-jail grant does with words.
func granting(s *config.Server, tool string, words []string) error {
	var o config.CommandLineOptions
	for ; len(words) > 1; words = words[2:] {
		list := map[string]*[]string{"--read": &o.Read, "--write": &o.Write, "--execute": &o.Execute, "--net": &o.Net, "--inbound": &o.Inbound, "--env": &o.Env, "--limit": &o.Limit}[words[0]]
		if list == nil {
			o.Workspace = words[1]
			continue
		}
		*list = append(*list, words[1])
	}
	table, err := o.Table()
	if err != nil {
		return err
	}
	g := config.Grants{Table: table, Tool: tool, At: func(p string) string {
		switch {
		case strings.HasPrefix(p, "~/"):
			p = "/home/u/" + p[2:]
		case !strings.HasPrefix(p, "/"):
			p = "/home/u/work/" + p
		}
		return path.Clean(p)
	}}
	narrower, err := g.AddTo(s)
	for _, r := range narrower {
		g.Drop(s, r)
	}
	return err
}

// TestNoWrite checks that no line lets a server write to what it is started from, or to what other
// programs run or obey, where no entry of its policy protects it. A file beside each gets a line.
func TestNoWrite(t *testing.T) {
	for _, tt := range testkit.Table[struct{ no, yes string }](t, "nowrite.txt") {
		for _, path := range []string{tt.no, tt.yes} {
			ev := evidence("it failed")
			ev.Denials = []policy.Denial{{Axis: policy.AxisFs, Operation: "write", Target: path, Program: "/usr/bin/node", Count: 1}}
			diagnostest.Of(&ev).Exists, ev.SearchPath = func(p string) bool { return p == path || strings.HasPrefix(path, p+"/") }, "/usr/bin:/data/bin"
			host := fakeHost(hostFiles)
			host.Environ = []string{"PATH=/usr/bin:/data/bin"}
			ev.Profile.Programs, ev.Profile.Loaders = []string{"/data/tools/helper"}, []string{"/data/lib/ld.so"}
			ev.Profile.Parts = []policy.Part{{Path: "/data/srv"}}
			deciding(&ev, judge(&policy.Policy{}, host))
			if d := diagnose.Failure(ev); strings.Contains(strings.Join(wordsOf(d), "\n"), "--write") != (path == tt.yes) {
				t.Errorf("%s\n%s", path, d.Text())
			}
		}
	}
}

// TestRefusedProposal tests what is said of a change that cannot be made.
func TestRefusedProposal(t *testing.T) {
	for kind, want := range map[policy.ReasonKind]string{
		"":                      "grant --read ~/notes/a.md",
		policy.WhyWouldNotStart: "mcp-jail does not suggest allowing it, because the server would not start with it: it says",
		policy.WhyGivesMore:     "mcp-jail does not suggest allowing it: it would also change what the server may do with \"it says",
		policy.WhyListing:       " --remove --per-call",
		policy.WhyNoRule:        "only a rule that the user writes",
		policy.WhyDenied:        "denies it. Leave that out, if the server may have it",
	} {
		ev := evidence("EACCES: permission denied, open '/home/u/notes/a.md'")
		diagnostest.Of(&ev).Decide = func(wants ...change.Want) (all []change.Proposal) {
			for _, w := range wants {
				var reasons []policy.Reason
				if kind != "" {
					reasons = []policy.Reason{{Kind: kind, Names: []string{"it says \x1b no"}}}
				}
				all = append(all, change.Judge(w, reasons, nil))
			}
			return all
		}
		d := diagnose.Failure(ev)
		if !strings.Contains(advised(d), want) || strings.Contains(advised(d), "\x1b") || d.CanAllow() != (kind == "") {
			t.Errorf("%s: %q\n%s", kind, advised(d), d.Text())
		}
	}
}

func TestSecretsStayOut(t *testing.T) {
	const secret = "ghp_0123456789abcdef"
	ev := evidence("EACCES: permission denied, open '/data/" + secret + "/x' while GITHUB_TOKEN=" + secret)
	diagnostest.Of(&ev).Exists = nil
	ev.Stderr = []string{"token " + secret, "https://u:" + secret + "@example.org/"}
	ev.Denials = []policy.Denial{{Axis: policy.AxisNet, Operation: "connect", Target: "https://example.org/?t=" + secret}}
	d := diagnose.Failure(ev)
	r, err := diagnostics.Record{Diagnoses: []diagnostics.Diagnosis{d}, Denials: d.Denials}.Encode()
	testkit.Must(t, err)
	for name, s := range map[string]string{"text": d.Text(), "frame": string(d.ErrorFrame([]byte("1"))), "block": string(d.ResultBlock()), "record": string(r)} {
		if strings.Contains(s, secret) {
			t.Errorf("the %s holds a secret:\n%s", name, s)
		}
	}
	if strings.Contains(strings.Join(wordsOf(d), "\n"), "redacted") {
		t.Errorf("a rule for a name that is not the name: %v", wordsOf(d))
	}
}
