package diagnose_test

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnostest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// executed are paths that programs outside of the jail run or obey, and paths that the
// jail is built from, on the host of TestWriteForbidden.
var executed = []string{
	"/usr/bin/node", "/usr/bin/git", "/usr/bin/new", "/usr/local/bin/mcp-jail", "/usr/lib/x.so", "/etc/passwd", "/etc/cron.d/x", "/etc/new", "/opt/tools/bin/rg", "/opt/tools/bin/new",
	"/home/u/.bashrc", "/home/u/.profile", "/home/u/.gitconfig", "/home/u/.config/autostart/x.desktop", "/home/u/.config/autostart/new", "/home/u/.config/systemd/user/x.service", "/home/u/.local/bin/x", "/home/u/bin/x", "/home/u/bin/new",
	"/home/u/.ssh/id_rsa", "/home/u/.ssh/authorized_keys", "/home/u/.claude.json", "/home/u/.config/mcp-jail/config.toml", "/home/u/.local/state/mcp-jail/trust.toml", "/home/u/.local/state/mcp-jail/records/other/1.json", "/home/u/.cache/mcp-jail/catalog/x", "/var/spool/cron/u", "/home/u/srv/dist/index.js",
	"/home/u/work/.git/hooks/pre-commit", "/home/u/work/.git/hooks/new", "/home/u/work/.git/config", "/home/u/work/.vscode/tasks.json", "/home/u/work/.vscode/new", "/home/u/work/.envrc", "/home/u/work/.mcp.json", "/home/u/other/.git/hooks/x",
}

// harmlessFiles are other paths of that host.
var harmlessFiles = []string{
	"/home/u/work/out.txt", "/home/u/work/src/lib.rs", "/home/u/work/app.db", "/home/u/notes/a.md", "/home/u/docs/m.json", "/home/u/.config/app/app.toml", "/home/u/.cache/x", "/home/u/srv/package.json", "/home/u/srv/data/x",
	"/data/notes/x.md", "/srv/models/m.bin", "/home/u/other/x", "/home/u/.local/state/mcp-jail/",
}

// absentOnHost are the paths of executed that do not exist.
func absentOnHost(p string) bool {
	return path.Base(p) == "new" || slices.Contains([]string{"/home/u/.ssh/authorized_keys", "/home/u/work/.envrc", "/home/u/work/.mcp.json"}, p)
}

// generated returns the evidence of a server that names some of paths or directories
// around them.
func generated(r *rand.Rand, paths []string) diagnostics.Evidence {
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	name := func() string {
		p := pick(paths)
		switch r.IntN(8) {
		case 0:
			return path.Dir(p)
		case 1:
			return p + ".1234.tmp"
		case 2:
			return p + "-journal"
		case 3:
			return path.Join(path.Dir(p), "."+path.Base(p)+".swp")
		case 4:
			return path.Join(path.Dir(p), pick([]string{"another", "sedAbCdEf", "x~", "m.lock"}))
		case 5:
			return path.Join(path.Dir(p), "another/one")
		}
		return path.Clean(p)
	}
	ev := diagnostics.Evidence{Stage: diagnostics.StageCall, Server: "s", Tool: "t", Method: "tools/call", UserHome: "/home/u", SearchPath: "/usr/bin:/opt/tools/bin:/home/u/bin", Text: "it failed"}
	for range r.IntN(4) {
		ev.Denials = append(ev.Denials, policy.Denial{
			Axis: policy.AxisFs, Operation: pick([]string{"create", "write", "truncate", "remove", "rename", "mkdir", "setxattr"}), Target: name(), Program: "/usr/bin/node", Count: 1,
		})
	}
	for range r.IntN(3) {
		ev.Text += "\n" + fmt.Sprintf(pick([]string{
			"Error: EACCES: permission denied, open '%s'", "Error: EROFS: read-only file system, open '%s'", "Error: EPERM: operation not permitted, unlink '%s'", "EACCES: permission denied, mkdir '%s'",
			"PermissionError: [Errno 13] Permission denied: '%s'", "OSError: [Errno 30] Read-only file system: '%s'", "OSError: [Errno 16] Device or resource busy: '%s'", "FileNotFoundError: [Errno 2] No such file or directory: '%s'",
			"/bin/sh: 1: cannot create %s: Permission denied", "bash: line 1: %s: Permission denied", "rm: cannot remove '%s': Read-only file system", "touch: cannot touch '%s': Read-only file system", "cp: cannot create regular file '%s': Permission denied",
			"Error: unable to open database \"%s\": unable to open database file", "error: could not lock config file %s: Read-only file system", "failed to write %s: permission denied", "mkdir: cannot create directory ‘%s’: Permission denied",
			"EACCES: permission denied, rename '/home/u/work/out.txt' -> '%s'", "sh: 1: %s: Permission denied",
		}), name())
	}
	return ev
}

// withFlags returns the profile of a server given on the command line with further flags.
func withFlags(o config.CommandLineOptions, flags []string, on hostfs.Host) (*policy.Profile, error) {
	for i := 0; i+1 < len(flags); i += 2 {
		switch value := flags[i+1]; flags[i] {
		case "--read":
			o.Read = append(o.Read, value)
		case "--write":
			o.Write = append(o.Write, value)
		case "--workspace":
			o.Workspace = value
		default:
			return nil, fmt.Errorf("flag %s", flags[i])
		}
	}
	p, err := config.FromCommandLine(o)
	if err != nil {
		return nil, err
	}
	profile, _, err := resolve.Resolve(p, on)
	return profile, err
}

// TestTextGetsNoSecrets checks that text of a server never leads to a line for a sensitive
// path. A denial on record does, with a warning.
func TestTextGetsNoSecrets(t *testing.T) {
	for _, text := range []string{
		"EACCES: permission denied, open '/home/u/.ssh/id_rsa'", "ENOENT: no such file or directory, open '/home/u/.netrc'",
		"ENOENT: no such file or directory, open '/home/v/.ssh/id_rsa'", "EACCES: permission denied, scandir '/home/u/.ssh'",
	} {
		ev := evidence(text)
		diagnostest.Of(&ev).Exists = func(string) bool { return true }
		d := diagnose.Failure(ev)
		if d.Attribution != diagnostics.Likely || len(wordsOf(d)) > 0 || !strings.Contains(d.Cause, "The jail hides keys and passwords") {
			t.Errorf("%s\n%s", text, d.Text())
		}
	}
	secrets := []policy.NetRule{{Secrets: []policy.Secret{{Env: "T", File: "~/.config/gitlab-token"}}}}
	all := &policy.Policy{Sensitive: []string{"~/vault", "~/keys/*.pem"}, Others: []*policy.Policy{{Net: secrets}}}
	for path, secret := range map[string]bool{
		"/home/u/.config/gitlab-token": true, "/home/u/vault/my.kdbx": true, "/home/u/keys/a.pem": true, "/home/u/.thunderbird/p": true, "/home/u/.config/google-chrome-beta/Default": true, "/home/u/.mysql_history": true,
		"/home/u/.local/share/fish/fish_history": true, "/home/u/.config/mcp-jail/config.toml": true, "/home/u/docs/a/b.txt": false, "/home/u/keys/a.txt": false,
	} {
		for _, text := range []string{"EACCES: permission denied, open '%s'", "connect EACCES %s", "EROFS: read-only file system, open '%s'"} {
			ev := evidence(fmt.Sprintf(text, path))
			diagnostest.Of(&ev).Exists = func(string) bool { return true }
			deciding(&ev, judge(all, fakeHost(hostFiles)))
			if d := diagnose.Failure(ev); d.Attribution != diagnostics.Likely || (len(wordsOf(d)) == 0) != secret || secret && !strings.Contains(advised(d), "mcp-jail does not suggest") {
				t.Errorf("%s: %s\n%s", path, ev.Text, d.Text())
			}
		}
	}
	for _, text := range []string{"ls: cannot open directory '/home/u': Permission denied", "ls: cannot access '/root': No such file or directory", "EACCES: permission denied, scandir '/'"} {
		ev := evidence(text)
		diagnostest.Of(&ev).Exists = func(string) bool { return true }
		if d := diagnose.Failure(ev); len(wordsOf(d)) > 0 {
			t.Errorf("%s\n%s", text, d.Text())
		}
	}
	for socket, secret := range map[string]bool{"/home/u/.gnupg/S.gpg-agent": true, "/home/u/docs/z.sock": false} {
		ev := evidence("it failed")
		diagnostest.Of(&ev).Exists = func(path string) bool { return !strings.HasSuffix(path, "/.") }
		ev.Denials = []policy.Denial{{Axis: policy.AxisIPC, Operation: "connect", Target: socket}}
		if d := diagnose.Failure(ev); (len(wordsOf(d)) == 0) != secret || secret && !strings.Contains(advised(d), "mcp-jail does not suggest") {
			t.Errorf("%s: %s", socket, d.Text())
		}
	}
	ev := evidence("it failed")
	diagnostest.Of(&ev).Exists = func(string) bool { return true }
	ev.Denials = refusals("open /home/u/.aws/credentials")
	if d := diagnose.Failure(ev); len(wordsOf(d)) == 0 || !strings.Contains(advised(d), "careful: ") {
		t.Errorf("%s", d.Text())
	}
}

// homeHost is a host with a typical home.
var homeHost = host{
	"/home/u/.bashrc": true, "/home/u/.profile": true, "/home/u/.config/app/app.toml": true, "/home/u/.config/systemd/user/x.service": true,
	"/home/u/.local/share/app/x": true, "/home/u/.cache/app/x": true, "/home/u/go/bin/gopls": true, "/home/u/tools/rg": true, "/home/u/docs/a": true,
	"/home/u/dotfiles/zshrc": true, "/home/u/work/out.txt": true, "/home/u/other/.git/hooks/x": true, "/var/log/x": true, "/opt/x/y": true, "/srv/x/y": true,
	"/tmp/x": true, "/usr/bin/node": true, "/etc/passwd": true, "/home/u/.ssh/id": true,
}

// homeJudge judges what is on it.
var homeJudge = func() func(string, policy.Rights) []policy.Reason {
	h := fakeHost(slices.Collect(maps.Keys(homeHost)))
	h.Environ, h.ConfigDir, h.CacheDir = []string{"PATH=/usr/bin:/home/u/tools"}, "/home/u/.mcp/config", "/home/u/.mcp/cache"
	lstat := h.Lstat
	h.Lstat = func(p string) (hostfs.FileInfo, error) {
		if p == "/home/u/.zshrc" {
			return hostfs.FileInfo{Mode: fs.ModeSymlink}, nil
		}
		return lstat(p)
	}
	h.Readlink = func(string) (string, error) { return "dotfiles/zshrc", nil }
	return judge(&policy.Policy{}, h)
}()

// onHomeHost makes evidence one of homeHost.
func onHomeHost(ev *diagnostics.Evidence) {
	diagnostest.Of(ev).Exists = homeHost.exists
	ev.SearchPath = "/usr/bin:/home/u/tools"
	deciding(ev, homeJudge)
	diagnostest.Of(ev).Canonical = func(path string) string {
		if path == "/home/u/.zshrc" {
			return "/home/u/dotfiles/zshrc"
		}
		return path
	}
}

// TestWriteForbidden checks for any text and any denials of a server that no line adds a
// right to write to files that are run or obeyed outside of its jail.
func TestWriteForbidden(t *testing.T) {
	files := slices.DeleteFunc(slices.Concat(executed, harmlessFiles), absentOnHost)
	on := fakeHost(files)
	harm := judge(&policy.Policy{}, on)
	exists := func(p string) bool {
		if dir, ok := strings.CutSuffix(p, "/."); ok {
			info, err := on.Lstat(dir)
			return err == nil && info.Mode.IsDir()
		}
		_, err := on.Lstat(path.Clean(p))
		return err == nil
	}
	const plain = "[servers.s]\ncommand = \"node\"\narguments = [\"/home/u/srv/dist/index.js\"]\n"
	rule := func(path, rights string) string {
		return "\n[[servers.s.access.fs]]\npath = \"" + path + "\"\n" + rights + "\n"
	}
	bases := []string{
		plain, plain + rule(".", "read = true"), plain + rule(".", "read = true\nexecute = true"), plain + rule(".", "read = true\nwrite = true") + rule("src", "deny = \"write\""),
		plain + rule("~/docs/m.json", "read = true"), plain + "[servers.s.access]\n",
	}
	resolving := func(file string, words ...string) (*policy.Profile, error) {
		c, err := config.Decode([]byte("version = 1\n"+file), "mcp-jail.toml")
		if err != nil {
			return nil, err
		}
		if err := granting(c.Servers["s"], "", words); err != nil {
			return nil, err
		}
		p, err := c.Policy("s", "")
		if err != nil {
			return nil, err
		}
		profile, _, err := resolve.Resolve(p, on)
		return profile, err
	}
	places := executed
	var befores []*policy.Profile
	for _, base := range bases {
		before, err := resolving(base)
		testkit.Must(t, err)
		befores = append(befores, before)
	}
	inPlace := config.CommandLineOptions{Command: []string{"node", "/home/u/srv/dist/index.js"}}
	r := rand.New(rand.NewPCG(20, 16))
	proposed := 0
	rounds := testkit.Rounds(400, 4000) // two faults put in on purpose are found in the first 8 and 266
	for range rounds {
		i := r.IntN(len(bases))
		ev := generated(r, slices.Concat(executed, executed, harmlessFiles))
		ev.Profile, diagnostest.Of(&ev).Exists = befores[i], exists
		if ev.FromCommandLine = i == 0 && r.IntN(2) == 0; ev.FromCommandLine {
			p, err := config.FromCommandLine(inPlace)
			testkit.Must(t, err)
			if ev.Profile, _, err = resolve.Resolve(p, on); err != nil {
				t.Fatal(err)
			}
		}
		deciding(&ev, harm)
		before, d := ev.Profile, diagnose.Failure(ev)
		var after *policy.Profile
		var err error
		switch {
		case len(wordsOf(d)) > 0 && ev.FromCommandLine:
			after, err = withFlags(inPlace, wordsOf(d), on)
		case len(wordsOf(d)) > 0:
			after, err = resolving(bases[i], wordsOf(d)...)
		default:
			continue
		}
		if err != nil {
			continue // it cannot be built, and so grants nothing
		}
		proposed++
		for _, place := range places {
			for _, op := range []policy.Op{policy.OpWrite, policy.OpCreate, policy.OpRemove} {
				if after.Allows(op, place) && !before.Allows(op, place) {
					t.Fatalf("%s of %s is proposed by\n%s\n%+v\n%s", op, place, strings.Join(wordsOf(d), " "), ev.Denials, d.Text())
				}
			}
			if place != "/home/u/work/.envrc" && after.RightsAt(place).Has(policy.Execute) && !before.RightsAt(place).Has(policy.Execute) && !strings.Contains(told(d), "execute") {
				t.Fatalf("%s may be executed by\n%s", place, d.Text())
			}
		}
	}
	if proposed < rounds/8 {
		t.Errorf("only %d proposals were looked at", proposed)
	}
}
