package install

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
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

// configOf returns what a user's configuration says to the npm of a directory of PATH.
func configOf(t *testing.T, dir string, host *hostfs.Host) (*npmConfig, error) {
	t.Helper()
	host.Environ = append(host.Environ, "PATH="+dir+":/usr/bin:/bin")
	i := &Installer{Host: *host}
	npm, err := i.findNPM(t.Context(), i.searchPath())
	testkit.Must(t, err)
	return i.npmConfigOf(npm)
}

// TestReadNpmConfig tests which settings and credentials reach the jail.
func TestReadNpmConfig(t *testing.T) {
	host := hostWith(t, "TOKEN=fromenv", "NPM_CONFIG_//b.test/:_authToken=b-token", "npm_config_//other.test/:_authToken=other", "npm_config_min_release_age=3", "NPM_CONFIG_CA=one\n\ntwo")
	testkit.WriteFile(t, filepath.Join(host.Home, ".npmrc"), strings.Join([]string{
		"; a comment", "registry=https://a.test/npm/ # ours", "@b:registry=https://b.test", "//a.test/npm/:_authToken=${TOKEN}", `//b.test:443/:username = "me"`, "//b.test/:_password='pa$TOKEN'",
		"//evil.test/:_authToken=not-for-you", "//c.test/:_authToken=${MISSING}", "//c.test/:email=${MISSING?}", "_authToken=nobody's", "//a.test/:unknown=1", "init-author-name=x",
		"min-release-age=9", "https-proxy=http://proxy.test:8080", "noproxy[]=a", "noproxy[]=b", "@n:registry=null", "[section]", "registry=https://section.test/",
	}, "\n"))
	dir := fakeNPM(t, "11.0.0", map[string]string{"etc/npmrc": "registry=https://global.test\n@c:registry=http://c.test\n", "lib/node_modules/npm/npmrc": "strict-ssl=false\n@n:registry=http://n.test"})
	c, err := configOf(t, dir, host)
	testkit.Must(t, err)
	for what, c := range map[string][2]map[string]string{
		"settings": {c.settings, {"registry": "https://a.test/npm/", "@b:registry": "https://b.test", "@c:registry": "http://c.test", "strict-ssl": "false", "ca": "one\n\ntwo", "min-release-age": "3"}},
		"credentials": {c.credentials, {
			"//a.test/npm/:_authToken": "fromenv", "//b.test/:_authToken": "b-token", "//b.test:443/:username": "me", "//b.test/:_password": "pa$TOKEN", "//c.test/:_authToken": "${MISSING}", "//c.test/:email": "",
		}},
	} {
		if !maps.Equal(c[0], c[1]) {
			t.Errorf("%s: %q, want %q", what, c[0], c[1])
		}
	}
	if got := c.hosts(); !slices.Equal(got, []string{"c.test", "a.test", "b.test"}) {
		t.Errorf("the hosts are %q", got)
	}
	if c.proxy["HTTPS_PROXY"] != "http://proxy.test:8080" || c.proxy["NO_PROXY"] != "a,b" || c.settings["https-proxy"] != "" {
		t.Errorf("the proxy is %q", c.proxy)
	}
	if said := c.redactor().Redact("npm error fromenv b-token"); strings.Contains(said, "fromenv") || strings.Contains(said, "b-token") {
		t.Errorf("not redacted: %s", said)
	}
}

// TestReadNpmConfigRefused tests what is said of an npm that cannot be used.
func TestReadNpmConfigRefused(t *testing.T) {
	for _, c := range []struct{ name, version, rc, want string }{
		{"npm 6", "6.14.18", "", "is npm 6.14.18"},
		{"no address", "11.0.0", "registry=a.test", "npm config set registry URL"},
		{"file", "11.0.0", "@a:registry=file:///etc/passwd", "@a:registry is not the address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			host := hostWith(t)
			testkit.WriteFile(t, filepath.Join(host.Home, ".npmrc"), c.rc)
			if _, err := configOf(t, fakeNPM(t, c.version, nil), host); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestConfigRunsNothing: neither npm nor a file of the user makes a program run or wait.
func TestConfigRunsNothing(t *testing.T) {
	host := hostWith(t)
	mark := filepath.Join(host.Home, "ran")
	dir := fakeNPM(t, "11.0.0", map[string]string{"lib/node_modules/npm/bin/npm-cli.js": "#!/bin/sh\ntouch '" + mark + "'\n", "bin/node": "#!/bin/sh\ntouch '" + mark + "'\necho v20.1.0\n"})
	if c, err := configOf(t, dir, host); err != nil || c.settings["registry"] != defaultRegistry {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("a program ran outside of a jail")
	}
	for _, program := range []string{"npm", "node"} { // the control
		os.Remove(mark)
		testkit.Must(t, exec.Command(filepath.Join(dir, program)).Run())
		if _, err := os.Lstat(mark); err != nil {
			t.Errorf("control: %s: %v", program, err)
		}
	}
}

// TestConfigOfPlaces tests which files count.
func TestConfigOfPlaces(t *testing.T) {
	dir := fakeNPM(t, "11.0.0", map[string]string{"etc/npmrc": "registry=https://global.test/"})
	kit := testkit.ShortDir(t)
	testkit.Must(t, os.Mkdir(filepath.Join(kit, "etc"), 0o755))
	testkit.WriteFile(t, filepath.Join(kit, "etc/npmrc"), "registry=https://kit.test/")
	testkit.WriteFile(t, filepath.Join(kit, "rc"), "registry=https://rc.test/")
	for _, c := range []struct{ env, rc, want string }{
		{"X=", "", "https://global.test/"},
		{"PREFIX=" + kit, "", "https://global.test/"}, // a variable of many makefiles, which npm uses
		{"DESTDIR=" + kit, "", "https://global.test/"},
		{"npm_config_prefix=" + kit, "", "https://kit.test/"},
		{"NPM_CONFIG_GLOBALCONFIG=" + kit + "/rc", "", "https://rc.test/"},
		{"npm_config_userconfig=" + kit + "/rc", "", "https://rc.test/"},
		{"npm_config_userconfig=", "prefix=" + kit, "https://kit.test/"},
		{"npm_config_registry=https://env.test/", "registry=https://user.test/", "https://env.test/"},
	} {
		host := hostWith(t, c.env)
		testkit.WriteFile(t, filepath.Join(host.Home, ".npmrc"), c.rc)
		testkit.WriteFile(t, filepath.Join(host.Dir, ".npmrc"), "registry=https://project.test/")
		if got, err := configOf(t, dir, host); err != nil || got.settings["registry"] != c.want {
			t.Errorf("%s: %+v, %v, want %s", c.env, got, err, c.want)
		}
	}
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
		{"npx", "X=", "prefix=" + loose, "npm's configuration " + loose + "/etc/npmrc"},
		{"npx", "NPM_CONFIG_USERCONFIG=" + loose + "/rc", "", "npm's configuration " + loose + "/rc"},
		{"npx", "NPM_CONFIG_USERCONFIG=" + dir + "/linked", "", "npm's configuration " + dir + "/linked"},
		{"npx", "npm_config_globalconfig=" + loose + "/rc", "", "npm's configuration " + loose + "/rc"},
		{"npx", "X=", "cafile=" + loose + "/ca.pem", "the file of npm's settings " + loose + "/ca.pem"},
		{"npx", "NODE_EXTRA_CA_CERTS=" + loose + "/ca.pem", "", "the file of npm's settings " + loose + "/ca.pem"},
		{"npx", "X=", "//registry.npmjs.org/:certfile=" + loose + "/ca.pem", "the file of npm's settings " + loose + "/ca.pem"},
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
