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
	host, err := hostfs.LocalHost()
	testkit.Must(t, err)
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
	line, err := runline.Parse([]string{"npx", "-y", "pkg"})
	testkit.Must(t, err)
	for _, c := range []struct{ name, path, want string }{
		{"project only", bin + ":" + link + ":node_modules/.bin", "npm was not found in PATH (" + bin + " is left out: a server may write there)"},
		{"empty", "", "npm was not found in PATH:"},
		{"no node", only, "node was not found in PATH:"},
		{"project first", bin + ":" + dir, "is npm 6.0.0"}, // so dir's npm was asked
	} {
		host := hostWith(t)
		host.Environ = []string{"PATH=" + c.path}
		i := &Installer{Host: *host, Untrusted: func(file string) string {
			if real, err := filepath.EvalSymlinks(file); err == nil && policy.Within(real, project) {
				return "a server may write there"
			}
			return ""
		}}
		if c.name == "project first" {
			i.Host.Dir, i.Untrusted = project, nil
		}
		if c.want == "is npm 6.0.0" {
			i.Host.Environ = []string{"PATH=" + c.path + ":/usr/bin:/bin"}
		}
		if _, err := i.newRun(t.Context(), nil, &line); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestConfigBelieved tests that nothing is installed by a configuration that a server may write,
// wherever it lies.
func TestConfigBelieved(t *testing.T) {
	dir := fakeNPM(t, "11.0.0", map[string]string{"lib/node_modules/npm/npmrc": "fund=false"})
	loose := testkit.ShortDir(t) // a server may write there
	for _, name := range []string{"etc", "pip", "uv"} {
		testkit.Must(t, os.Mkdir(filepath.Join(loose, name), 0o755))
	}
	const rc, index, uv = "registry=https://evil.test/\n", "[global]\nindex-url=https://evil.test/\n", "[[index]]\nurl=\"https://evil.test/\"\ndefault=true\n"
	for name, text := range map[string]string{"etc/npmrc": rc, "rc": rc, "ca.pem": "x", "pip/pip.conf": index, "uv/uv.toml": uv, "netrc": "machine pypi.org login a password b\n"} {
		testkit.WriteFile(t, filepath.Join(loose, name), text)
	}
	testkit.Must(t, os.Symlink(filepath.Join(loose, "rc"), filepath.Join(dir, "linked")))
	for _, c := range []struct{ line, env, rc, want string }{
		{"npx", "npm_config_prefix=" + loose, "", "npm's configuration " + loose + "/etc/npmrc"},
		{"npx", "NODE_EXTRA_CA_CERTS=" + loose + "/ca.pem", "", "npm's configuration " + loose + "/ca.pem"},
		{"uvx", "PIP_CONFIG_FILE=" + loose + "/pip/pip.conf", "", "pip's configuration " + loose + "/pip/pip.conf"},
		{"uvx", "XDG_CONFIG_DIRS=" + loose, "", "pip's configuration " + loose + "/pip/pip.conf"},
		{"uvx", "XDG_CONFIG_HOME=" + loose, "", "pip's configuration " + loose + "/pip/pip.conf"},
		{"uvx", "PIP_CERT=" + loose + "/ca.pem", "", "the path in the settings of pip or uv " + loose + "/ca.pem"},
		{"uvx", "PIP_FIND_LINKS=" + loose, "", "the path in the settings of pip or uv " + loose},
		{"uvx", "PIP_FIND_LINKS=file://" + loose, "", "the path in the settings of pip or uv " + loose},
		{"uvx", "NETRC=" + loose + "/netrc", "", "the file of logins " + loose + "/netrc"},
		{"uvx", "UV_CONFIG_FILE=" + loose + "/uv/uv.toml", "", "uv's configuration " + loose + "/uv/uv.toml"},
		{"uvx", "XDG_CONFIG_HOME=" + loose, "", "uv's configuration " + loose + "/uv/uv.toml"},
	} {
		t.Run(c.line+" "+c.want, func(t *testing.T) {
			line, err := runline.Parse(strings.Fields(c.line + " pkg"))
			testkit.Must(t, err)
			host := hostWith(t, "PATH="+dir+":/usr/bin:/bin", c.env)
			testkit.WriteFile(t, filepath.Join(host.Home, ".npmrc"), c.rc)
			for _, untrusted := range []bool{true, false} {
				i := &Installer{Host: *host, Store: store.Store{Dir: filepath.Join(testkit.ShortDir(t), "store")}}
				if untrusted {
					i.Untrusted = func(file string) string {
						if real, err := filepath.EvalSymlinks(file); err == nil && policy.Within(real, loose) {
							return `the server "a" may write there`
						}
						return ""
					}
				}
				stage, err := i.Store.Stage("s-test")
				testkit.Must(t, err)
				defer stage.Close()
				if line.Ecosystem() == runline.NPM {
					_, err = i.newRun(t.Context(), stage, &line)
				} else {
					p := &pythonFetch{Installer: i, line: &line, jail: i.pythonJail(stage.Dir)}
					err = p.configure()
				}
				switch {
				case !untrusted && err != nil:
					t.Errorf("control: %v", err)
				case untrusted && (err == nil || !strings.Contains(err.Error(), c.want+` is not used: the server "a" may write there`)):
					t.Errorf("%v, want %q", err, c.want)
				}
			}
		})
	}
}
