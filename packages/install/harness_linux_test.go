package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

const installerName = "mcp-jail-test-installer"

func TestMain(m *testing.M) {
	confine.RunSupervisor()
	testkit.Programs{installerName: installerMain, fullDiskName: fullDiskMain, withoutNamespacesName: withoutNamespacesMain}.Dispatch()
	os.Exit(m.Run())
}

// user is a user of npm with a registry, and of mcp-jail.
type user struct {
	t    testing.TB
	dir  string // has all of the user's directories
	host hostfs.Host
	told *lockedBuffer
}

// lockedBuffer is a bytes.Buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newUser returns a user whose npm asks a registry. The directories of the user are not below
// /tmp, because each jail has a /tmp of its own. The path of HOME has a space and a letter that is
// not ASCII.
func newUser(t testing.TB, url string) *user {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			testkit.Skip(t, "npm", "%v", err)
		}
	}
	u := &user{t: t, dir: testkit.ShortDir(t), told: &lockedBuffer{}}
	t.Cleanup(func() { makeWritable(u.dir) })
	for _, name := range []string{"my hömé", "project"} {
		testkit.Must(t, os.Mkdir(filepath.Join(u.dir, name), 0o700))
	}
	u.host = hostOf(t, u.dir, registry.Environ(url, filepath.Join(u.dir, "my hömé")))
	return u
}

// fataler is a testing.TB or a program.
type fataler interface{ Fatal(args ...any) }

// hostOf returns the host of the user with a directory.
func hostOf(t fataler, dir string, env []string) hostfs.Host {
	host, err := hostfs.LocalHost()
	if err != nil {
		t.Fatal(err)
	}
	host.Home, host.Dir, host.Environ = filepath.Join(dir, "my hömé"), filepath.Join(dir, "project"), env
	host.ConfigDir, host.StateDir, host.CacheDir, host.DataDir = filepath.Join(dir, "config"), filepath.Join(dir, "state"), filepath.Join(dir, "cache"), filepath.Join(dir, "data")
	return host
}

func makeWritable(dir string) {
	filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(name, 0o700)
		}
		return nil
	})
}

func installerOf(host hostfs.Host) *Installer {
	return &Installer{Own: true, Store: store.Store{Dir: filepath.Join(host.DataDir, "packages")}, LockFile: filepath.Join(host.ConfigDir, store.FileName), Host: host, Waive: waived()}
}

// installer returns the user's installer. What npm prints is in u.told.
func (u *user) installer() *Installer {
	i := installerOf(u.host)
	i.Told = u.told
	return i
}

// line takes npx -y SPEC apart, or a line of uvx.
func line(t fataler, words ...string) *runline.Line {
	if words[0] != "uvx" {
		words = append([]string{"npx", "-y"}, words...)
	}
	l, err := runline.Parse(words)
	if err != nil {
		t.Fatal(err)
	}
	return &l
}

// jailed skips a test on a host that cannot make the jail.
func jailed(t testing.TB, err error) {
	t.Helper()
	var gaps *confine.GapError
	if errors.As(err, &gaps) {
		testkit.Skip(t, "userns", "%v", err)
	}
}

// installs installs a package, which must succeed.
func (u *user) installs(i *Installer, spec string) *Result {
	u.t.Helper()
	r, err := i.Install(u.t.Context(), line(u.t, spec))
	jailed(u.t, err)
	if err != nil {
		u.t.Fatalf("%v\n%s", err, u.told)
	}
	return r
}

// fails installs a package, which must fail with some words.
func (u *user) fails(i *Installer, spec string, words ...string) error {
	u.t.Helper()
	_, err := i.Install(u.t.Context(), line(u.t, spec))
	jailed(u.t, err)
	if err == nil {
		u.t.Fatalf("%s was installed, want an error with %q", spec, words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			u.t.Errorf("the error does not have %q: %v\n%s", w, err, u.told)
		}
	}
	return err
}

// starts starts the installed program of a line, without a jail, and returns what its tool
// "about" says. The error is that of the finder or of the check.
func starts(s store.Store, lock string, host hostfs.Host, l *runline.Line) (about map[string]any, err error) {
	ctx, cancel := contextOf()
	defer cancel()
	p, err := installed.Finder{Store: s, LockFile: lock, Host: &host}.Find(ctx, l)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := p.Check(ctx); err != nil {
		return nil, err
	}
	cmd := exec.Command(p.Command, p.Arguments...)
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"about","arguments":{}}}` + "\n")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", p.Arguments, err)
	}
	var answer struct {
		Result struct {
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal(out, &answer); err != nil || len(answer.Result.Content) != 1 {
		return nil, fmt.Errorf("the server said %s", out)
	}
	return about, json.Unmarshal([]byte(answer.Result.Content[0].Text), &about)
}

// runs starts the installed program of a package, which must have a version.
func (u *user) runs(i *Installer, spec, version string) {
	u.t.Helper()
	about, err := starts(i.Store, i.LockFile, i.Host, line(u.t, spec))
	if err != nil || about["version"] != version {
		u.t.Errorf("%s: the server is %v, %v, want version %s", spec, about, err, version)
	}
}

// has reports whether a text is in a file below a directory, and returns that file.
func has(t testing.TB, dir, text string) string {
	t.Helper()
	found := ""
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(name)
		if bytes.Contains(content, []byte(text)) {
			found = name
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return found
}
