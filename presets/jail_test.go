package presets

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestJail tests what the presets of servers with a browser add to an entry, by what the entry says and
// by where the host has a browser.
func TestJail(t *testing.T) {
	for _, row := range testkit.Rows(t, "browsers.txt", 5) {
		preset, entry, has := row[0], row[1], row[2]
		p := testkit.Get(Find(preset))(t)
		home := t.TempDir()
		disk := hostfs.Glob(home)
		e := Entry{Env: map[string]string{}, Home: home, Glob: func(pattern string) (found []string) {
			if strings.HasPrefix(pattern, "~/") {
				return disk(pattern)
			}
			return slices.DeleteFunc(strings.Fields(has), func(name string) bool { return name != pattern })
		}}
		for _, name := range strings.Fields(has) {
			if below, ok := strings.CutPrefix(name, "~/"); ok {
				plant(t, filepath.Join(home, below))
			}
		}
		for _, word := range strings.Fields(entry) {
			if name, value, ok := strings.Cut(word, "="); ok && !strings.HasPrefix(word, "-") {
				e.Env[name] = value
			} else {
				e.Args = append(e.Args, word)
			}
		}
		got := p.For(e)
		var env []string
		for _, name := range slices.Sorted(maps.Keys(got.Env)) {
			env = append(env, name+"="+strings.ReplaceAll(got.Env[name], home, "~"))
		}
		if strings.Join(env, " ") != row[3] || strings.Join(got.Args, " ") != row[4] {
			t.Errorf("%s %q with %q: %q and %q, want %q and %q", preset, entry, has, env, got.Args, row[3], row[4])
		}
		// The server may start what it is told.
		for _, given := range append(slices.Collect(maps.Values(got.Env)), got.Args...) {
			_, name, ok := strings.Cut("="+given, "=/")
			name = strings.Replace("/"+name, home, "~", 1)
			if ok && !slices.ContainsFunc(got.Server.Access.Fs, func(r policy.FsRule) bool { return policy.Within(name, r.Path) && r.Read && r.Execute }) {
				t.Errorf("%s may not execute %s", preset, given)
			}
		}
		if slices.ContainsFunc(got.Server.Variables, func(v policy.EnvRule) bool { return got.Env[v.Name] != "" }) {
			t.Errorf("%s: a variable that the host does not have is forwarded: %v", preset, got.Server.Variables)
		}
	}
}

// TestEach tests that the directories of browsers are granted, each by itself: no profile, no link, and
// not what is around them.
func TestEach(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"chromium-1247/x", "chromium_headless_shell-1247/x", "mcp-chrome-1abc/Cookies", "mcp-chrome-profile/Cookies", "b/x", "firefox-99", "chromium-x/y"} {
		plant(t, filepath.Join(home, ".cache/ms-playwright", name))
	}
	testkit.Must(t, os.Symlink(home, filepath.Join(home, ".cache/ms-playwright/webkit-1")))
	p := testkit.Get(Find("playwright"))(t)
	var got []string
	for _, r := range p.For(Entry{Glob: hostfs.Glob(home)}).Server.Access.Fs {
		if below, ok := strings.CutPrefix(r.Path, "~/.cache/ms-playwright"); ok {
			got = append(got, below+" "+r.Rights().String())
		}
	}
	testkit.Equal(t, "", got, []string{"/chromium-1247 read execute", "/chromium_headless_shell-1247 read execute"})
}

func plant(t *testing.T, name string) {
	t.Helper()
	testkit.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	testkit.Must(t, os.WriteFile(name, nil, 0o755))
}
