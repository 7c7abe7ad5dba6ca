package install

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// fakeNPM makes a directory of PATH with an npm of a version, and a node. files are more files of
// their installation, by their names below the directory.
func fakeNPM(t *testing.T, version string, files map[string]string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("npm is not looked up on Windows")
	}
	dir := testkit.ShortDir(t)
	all := map[string]string{"lib/node_modules/npm/bin/npm-cli.js": "#!/bin/sh\n", "lib/node_modules/npm/package.json": `{"name": "npm", "version": "` + version + `"}`, "bin/node": "#!/bin/sh\necho v20.1.0\n"}
	maps.Copy(all, files)
	for name, text := range all {
		name = filepath.Join(dir, name)
		testkit.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		testkit.Must(t, os.WriteFile(name, []byte(text), 0o755))
	}
	testkit.Must(t, os.Symlink("../lib/node_modules/npm/bin/npm-cli.js", filepath.Join(dir, "bin/npm")))
	return filepath.Join(dir, "bin")
}

// hostWith returns this machine with variables, and a HOME without files.
func hostWith(t *testing.T, env ...string) *hostfs.Host {
	t.Helper()
	host := testkit.Get(hostfs.LocalHost())(t)
	host.Home, host.Dir, host.CacheDir = testkit.ShortDir(t), testkit.ShortDir(t), testkit.ShortDir(t)
	host.Environ = append(env, "PATH="+os.Getenv("PATH"), "HOME="+host.Home)
	return &host
}

// TestPrograms tests that npm and node are not taken from where servers may write.
func TestPrograms(t *testing.T) {
	dir := fakeNPM(t, "6.0.0", nil)
	project := t.TempDir()
	bin := filepath.Join(project, "node_modules", ".bin")
	link := filepath.Join(t.TempDir(), "link")
	only := filepath.Join(t.TempDir(), "only")
	testkit.Must(t, os.MkdirAll(bin, 0o755))
	for _, err := range []error{os.Symlink(bin, link), os.Mkdir(only, 0o755), os.Symlink(filepath.Join(dir, "npm"), filepath.Join(only, "npm"))} {
		testkit.Must(t, err)
	}
	testkit.WriteFile(t, filepath.Join(bin, "npm"), "#!/bin/sh\n")
	testkit.Must(t, os.Chmod(filepath.Join(bin, "npm"), 0o755))
	line := testkit.Get(runline.Parse([]string{"npx", "-y", "pkg"}))(t)
	for _, c := range []struct {
		name, path, want string
		inProject        bool // and no file is untrusted
	}{
		{"project only", bin + ":" + link + ":node_modules/.bin", "npm was not found in PATH (" + bin + " is left out: a server may write there)", false},
		{"empty", "", "npm was not found in PATH:", false},
		{"no node", only, "node was not found in PATH:", false},
		{"project first", bin + ":" + dir + ":/usr/bin:/bin", "is npm 6.0.0", true}, // so dir's npm was asked
	} {
		host := hostWith(t)
		host.Environ = []string{"PATH=" + c.path}
		i := &Installer{Host: *host, Untrusted: func(file string) string {
			if real, err := filepath.EvalSymlinks(file); err == nil && policy.Within(real, project) {
				return "a server may write there"
			}
			return ""
		}}
		if c.inProject {
			i.Host.Dir, i.Untrusted = project, nil
		}
		testkit.Fails(t, c.name, testkit.ErrorOf(i.newRun(t.Context(), nil, &line)), c.want)
	}
}

// TestConfigBelieved tests that nothing is installed by a configuration that a server may write, wherever it lies.
func TestConfigBelieved(t *testing.T) {
	dir, loose := fakeNPM(t, "11.0.0", nil), testkit.ShortDir(t)
	testkit.Must(t, os.Mkdir(filepath.Join(loose, "etc"), 0o755))
	testkit.WriteFile(t, filepath.Join(loose, "etc/npmrc"), "registry=https://evil.test/\n")
	testkit.WriteFile(t, filepath.Join(loose, "ca.pem"), "x")
	line := testkit.Get(runline.Parse([]string{"npx", "-y", "pkg"}))(t)
	for env, file := range map[string]string{"npm_config_prefix=" + loose: "etc/npmrc", "NODE_EXTRA_CA_CERTS=" + loose + "/ca.pem": "ca.pem"} {
		for _, untrusted := range []bool{true, false} {
			i := &Installer{Host: *hostWith(t, "PATH="+dir+":/usr/bin:/bin", env)}
			i.Untrusted = func(file string) string {
				if untrusted && policy.Within(file, loose) {
					return `the server "a" may write there`
				}
				return ""
			}
			stage := testkit.Get(store.Store{Dir: filepath.Join(t.TempDir(), "store")}.Stage("key"))(t)
			_, err := i.newRun(t.Context(), stage, &line)
			stage.Close()
			want := "npm's configuration " + filepath.Join(loose, file) + ` is not used: the server "a" may write there`
			if untrusted && (err == nil || !strings.Contains(err.Error(), want)) || !untrusted && err != nil {
				t.Errorf("untrusted %v: %v, want %q", untrusted, err, want)
			}
		}
	}
}
