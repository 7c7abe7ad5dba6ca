//go:build linux

package session

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// hostileHome is a home directory with an installed package, and with files that the package
// may not have.
func hostileHome(t *testing.T, files map[string]string) (home string, line []string) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		testkit.Skip(t, "node", "%v", err)
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	t.Cleanup(func() { // the files of a package are read-only
		filepath.WalkDir(home, func(name string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() {
				os.Chmod(name, 0o700)
			}
			return nil
		})
	})
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	t.Setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
	for _, dir := range []string{"work", "private/bin", "tools"} {
		testkit.Must(t, os.MkdirAll(filepath.Join(home, dir), 0o755))
	}
	t.Chdir(filepath.Join(home, "work"))
	host, err := hostfs.LocalHost()
	testkit.Must(t, err)
	line = []string{"npx", "-y", "hostile@1.0.0"}
	parsed, err := runline.Parse(line)
	testkit.Must(t, err)
	stage, err := PackageStore(host).Stage("hostile")
	testkit.Must(t, err)
	defer stage.Discard()
	tree := filepath.Join(stage.Dir, "tree")
	for name, text := range files {
		name = filepath.Join(tree, strings.ReplaceAll(name, "PACKAGE", "node_modules/hostile"))
		testkit.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		testkit.Must(t, testkit.WriteProgram(name, []byte(strings.ReplaceAll(text, "HOME", home))))
	}
	e := &store.Entry{Key: installed.Key(&parsed, &host), Name: "hostile", Version: "1.0.0", Tree: "sha256:" + strings.Repeat("0123456789abcdef", 4), Pinned: time.Unix(1, 0)}
	e.File, e.Program = "node_modules/hostile/main.js", "hostile"
	e.Files, err = stage.Commit(store.ID{Ecosystem: "npm", Name: e.Name, Version: e.Version, Digest: strings.TrimPrefix(e.Tree, "sha256:")}, tree)
	testkit.Must(t, err)
	testkit.Must(t, os.MkdirAll(host.ConfigDir, 0o700))
	if err := store.Update(LockFile(host), func(f *store.File) error { return f.Set(e) }); err != nil {
		t.Fatal(err)
	}
	return home, line
}

// TestHostilePackage checks that nothing in an installed package widens what its server may use,
// or changes what mcp-jail takes from the user's environment.
func TestHostilePackage(t *testing.T) {
	const manifest = `{"name":"hostile","version":"1.0.0","bin":"main.js"}`
	for _, test := range testkit.Table[struct{ name, line string }](t, "hostile.txt") {
		t.Run(test.name, func(t *testing.T) {
			home, line := hostileHome(t, map[string]string{"PACKAGE/package.json": manifest, "PACKAGE/main.js": test.line + "\n"})
			for name, text := range map[string]string{"private/run.py": "#!/usr/bin/python3\n", "private/plan": "secret", "private/pyvenv.cfg": "home = /usr/bin\n"} {
				testkit.Must(t, testkit.WriteProgram(filepath.Join(home, name), []byte(text)))
			}
			testkit.Must(t, os.Symlink("/usr/bin/python3", filepath.Join(home, "private/bin/python")))
			target, err := Resolve(cmdline.ConfigFlags{}, cmdline.PolicyFlags{}, "", "", cmdline.Server{Given: true, Argv: line})
			if target != nil {
				defer target.Close()
			}
			if err != nil {
				t.Log(err) // it does not start, which is as well
				return
			}
			if target.Package == nil || target.Package.program == nil {
				t.Fatal("it is not taken for an installed package:", target.Package.asGiven)
			}
			for _, name := range []string{"private/plan", "private/run.py"} {
				if r := target.Profile.RightsAt(filepath.Join(home, name)); r != 0 {
					t.Errorf("%s is granted: %s", name, r)
				}
			}
			for _, name := range []string{"PATH", "XDG_CONFIG_HOME"} {
				if value, _ := target.Host.Getenv(name); value != os.Getenv(name) {
					t.Errorf("%s of the host is %q", name, value)
				}
			}
		})
	}
}

// TestHostileProgramNames checks that a program of a package is not run outside of its jail, as
// the command of a secret.
func TestHostileProgramNames(t *testing.T) {
	home, _ := hostileHome(t, map[string]string{
		"PACKAGE/package.json":         `{"name":"hostile","version":"1.0.0","bin":"main.js"}`,
		"PACKAGE/main.js":              "#!/usr/bin/env node\n",
		"node_modules/.bin/get-secret": "#!/bin/sh\necho stolen\n",
	})
	text := "[servers.s]\ncommand = 'npx'\narguments = ['-y', 'hostile@1.0.0']\nworkspace = '" + home + "/work'\n" +
		"[[servers.s.access.net]]\nhost = 'api.example.org'\nallow = true\nsecret = { env = 'TOKEN', command = ['get-secret'] }\n"
	testkit.Must(t, os.WriteFile(filepath.Join(home, ".config/mcp-jail/config.toml"), []byte(text), 0o600))
	target, err := Resolve(cmdline.ConfigFlags{}, cmdline.PolicyFlags{}, "s", "", cmdline.Server{})
	if target != nil {
		defer target.Close()
	}
	testkit.Must(t, err)
	for _, s := range target.Profile.Secrets {
		if s.Program != "" || strings.Contains(s.Path, "node_modules") {
			t.Errorf("the secret's command is %q, with PATH=%s", s.Program, s.Path)
		}
	}
	if len(target.Profile.Secrets) == 0 {
		t.Error("the secret is missing")
	}
}

// TestPackageEnvironment checks that the programs of a package are there for its server.
func TestPackageEnvironment(t *testing.T) {
	_, line := hostileHome(t, map[string]string{
		"PACKAGE/package.json":  `{"name":"hostile","version":"1.0.0","bin":"main.js"}`,
		"PACKAGE/main.js":       "#!/usr/bin/env -S node\n",
		"node_modules/.bin/tsc": "#!/bin/sh\n",
	})
	target, err := Resolve(cmdline.ConfigFlags{}, cmdline.PolicyFlags{}, "", "", cmdline.Server{Given: true, Argv: line})
	testkit.Must(t, err)
	defer target.Close()
	env := map[string]string{}
	for _, v := range target.Profile.Env {
		env[v.Name] = v.Value
	}
	if !strings.HasSuffix(env["PATH"], "/tree/node_modules/.bin") {
		t.Errorf("PATH=%s", env["PATH"])
	}
}

// TestDataVariable checks that a package writes its data where the user says if it gets the variable, and else into its HOME:
// its own folder is read-only.
func TestDataVariable(t *testing.T) {
	for _, c := range []struct {
		name, value string
		rules       []policy.EnvRule
		own         bool
	}{
		{"no value", "", nil, true},
		{"a value that it gets", "/data/m.json", []policy.EnvRule{{Name: "MEMORY_FILE_PATH", Read: true}}, false},
		{"a value that it does not get", "/data/m.json", nil, true},
		{"a rule, and no value", "", []policy.EnvRule{{Name: "MEMORY_FILE_PATH", Read: true}}, true},
	} {
		target := &Target{Policy: &policy.Policy{Env: c.rules}, Package: &Package{program: &installed.Program{Entry: &store.Entry{Name: "@modelcontextprotocol/server-memory"}}}}
		if c.value != "" {
			target.Host.Environ = []string{"MEMORY_FILE_PATH=" + c.value}
		}
		if got := target.dataVariable(); (len(got) > 0) != c.own {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// TestStoreOfAnotherUser checks that a store counts only if no other user can write there.
func TestStoreOfAnotherUser(t *testing.T) {
	home, line := hostileHome(t, map[string]string{
		"PACKAGE/package.json": `{"name":"hostile","version":"1.0.0","bin":"main.js"}`,
		"PACKAGE/main.js":      "#!/usr/bin/env node\n",
	})
	testkit.Must(t, os.Chmod(filepath.Join(home, ".local/share"), 0o777))
	target, err := Resolve(cmdline.ConfigFlags{}, cmdline.PolicyFlags{}, "", "", cmdline.Server{Given: true, Argv: line})
	if target != nil {
		defer target.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Error(err)
	}
}

// TestTreeStaysReadOnly checks that a server can read its own package and cannot write it, also
// where a rule grants a directory around the store.
func TestTreeStaysReadOnly(t *testing.T) {
	for _, test := range []struct {
		name  string
		flags func(home string) cmdline.PolicyFlags
	}{
		{"written", func(home string) cmdline.PolicyFlags { return cmdline.PolicyFlags{Write: []string{home + "/.local"}} }},
		{"written and executed", func(home string) cmdline.PolicyFlags {
			return cmdline.PolicyFlags{Write: []string{home + "/.local"}, Execute: []string{home + "/.local"}}
		}},
		{"read", func(home string) cmdline.PolicyFlags { return cmdline.PolicyFlags{Read: []string{home + "/.local"}} }},
	} {
		t.Run(test.name, func(t *testing.T) {
			home, line := hostileHome(t, map[string]string{
				"PACKAGE/package.json": `{"name":"hostile","version":"1.0.0","bin":"main.js"}`,
				"PACKAGE/main.js":      "#!/usr/bin/env node\n",
			})
			target, err := Resolve(cmdline.ConfigFlags{}, test.flags(home), "", "", cmdline.Server{Given: true, Argv: line})
			testkit.Must(t, err)
			defer target.Close()
			if r := target.Profile.RightsAt(filepath.Join(target.Package.program.Dir, "node_modules/hostile/main.js")); r != policy.Read|policy.Execute {
				t.Errorf("the package is granted %s", r)
			}
			if r := target.Profile.RightsAt(filepath.Dir(target.Package.program.Dir)); r != 0 {
				t.Errorf("the seal is granted %s", r)
			}
		})
	}
}

// TestLocalPackageStops checks that a project's line for which the project has a program does not start, also if a
// package of that name is pinned: npx would run that program.
func TestLocalPackageStops(t *testing.T) {
	home, line := hostileHome(t, map[string]string{"PACKAGE/package.json": `{"name":"hostile","version":"1.0.0","bin":"main.js"}`, "PACKAGE/main.js": "#!/usr/bin/env node\n"})
	resolve := func() error {
		target, err := Resolve(cmdline.ConfigFlags{}, cmdline.PolicyFlags{}, "", "", cmdline.Server{Given: true, Argv: line})
		if err == nil {
			t.Cleanup(target.Close)
		}
		return err
	}
	testkit.Must(t, resolve())
	bin := filepath.Join(home, "work/node_modules/.bin")
	testkit.Must(t, os.MkdirAll(bin, 0o700))
	testkit.WriteFile(t, filepath.Join(bin, line[2]), "")
	var failed *Error
	if err := resolve(); !errors.As(err, &failed) || !strings.Contains(err.Error(), "node_modules/.bin") {
		t.Error(err)
	}
}
