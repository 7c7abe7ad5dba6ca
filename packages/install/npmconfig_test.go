package install

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/launcher"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// fakeNPM makes a directory with a program npm that prints a text, and one that is node.
func fakeNPM(t *testing.T, says string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"npm": "#!/bin/sh\ncat <<'END'\n" + says + "\nEND\n", "node": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func hostWith(t *testing.T, env ...string) *hostfs.Host {
	return &hostfs.Host{Home: t.TempDir(), Dir: t.TempDir(), Environ: append(env, "PATH="+os.Getenv("PATH"))}
}

// TestReadNpmConfig tests which settings and credentials reach the jail.
func TestReadNpmConfig(t *testing.T) {
	host := hostWith(t, "TOKEN=fromenv", "NPM_CONFIG_//b.test/:_authToken=b-token", "npm_config_//other.test/:_authToken=other")
	rc := filepath.Join(host.Home, ".npmrc")
	testkit.WriteFile(t, rc, strings.Join([]string{
		"; a comment", "registry=https://a.test/npm/", "//a.test/npm/:_authToken=${TOKEN}", `//b.test:443/:username = "me"`, "//b.test/:_password='pa$TOKEN'",
		"//evil.test/:_authToken=not-for-you", "//c.test/:_authToken=${MISSING}", "//c.test/:email=${MISSING?}", "_authToken=nobody's", "//a.test/:unknown=1",
	}, "\n"))
	dir := fakeNPM(t, `{"registry": "https://a.test/npm/", "@b:registry": "https://b.test", "@c:registry": "http://c.test", "@n:registry": null, "npm-version": "11.0.0",
		"userconfig": "`+rc+`", "globalconfig": "/nonexistent", "cache": "/nonexistent", "strict-ssl": false, "ca": ["one", "two"], "cafile": null, "min-release-age": 3,
		"https-proxy": "http://proxy.test:8080", "noproxy": ["a", "b"], "init-author-name": "x"}`)
	c, err := readNpmConfig(t.Context(), filepath.Join(dir, "npm"), host, []string{dir, "/usr/bin", "/bin"})
	if err != nil {
		t.Fatal(err)
	}
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
	if c.proxy["HTTPS_PROXY"] != "http://proxy.test:8080" || c.settings["https-proxy"] != "" {
		t.Errorf("the proxy is %q", c.proxy)
	}
	if said := c.redactor().Redact("npm error fromenv b-token"); strings.Contains(said, "fromenv") || strings.Contains(said, "b-token") {
		t.Errorf("not redacted: %s", said)
	}
	line, err := launcher.Parse([]string{"npx", "-y", "--registry=https://d.test/", "pkg"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.useOptions(&line); err != nil || !slices.Contains(c.hosts(), "d.test") || slices.Contains(c.hosts(), "a.test") {
		t.Errorf("with --registry the hosts are %q, %v", c.hosts(), err)
	}
}

// TestReadNpmConfigRefused tests what is said of an npm that cannot be used.
func TestReadNpmConfigRefused(t *testing.T) {
	for _, c := range []struct{ name, says, want string }{
		{"npm 6", `{"user-agent": "npm/6.14.18 node/v14.21.3 linux x64", "registry": "https://a.test/"}`, "is npm 6.14.18"},
		{"not JSON", "hello", "is not JSON"},
		{"no registry", `{"npm-version": "11.0.0"}`, "names no registry"},
		{"no address", `{"npm-version": "11.0.0", "registry": "a.test"}`, "npm config set registry URL"},
		{"file", `{"npm-version": "11.0.0", "@a:registry": "file:///etc/passwd"}`, "@a:registry is not the address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := fakeNPM(t, c.says)
			_, err := readNpmConfig(t.Context(), filepath.Join(dir, "npm"), hostWith(t), []string{dir, "/usr/bin", "/bin"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestPrograms tests that npm and node are not taken from where servers may write.
func TestPrograms(t *testing.T) {
	dir := fakeNPM(t, "")
	project := t.TempDir()
	bin := filepath.Join(project, "node_modules", ".bin")
	link := filepath.Join(t.TempDir(), "link")
	only := filepath.Join(t.TempDir(), "only")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{os.Symlink(bin, link), os.Mkdir(only, 0o755), os.Symlink(filepath.Join(dir, "npm"), filepath.Join(only, "npm"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	testkit.WriteFile(t, filepath.Join(bin, "npm"), "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(bin, "npm"), 0o755); err != nil {
		t.Fatal(err)
	}
	line, err := launcher.Parse([]string{"npx", "-y", "pkg"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, want string }{
		{"project only", bin + ":" + link + ":node_modules/.bin", "npm was not found in PATH (" + bin + " and its like are left out: servers may write there)"},
		{"empty", "", "npm was not found in PATH:"},
		{"no node", only, "node was not found in PATH:"},
		{"project first", bin + ":" + dir, "is not JSON"}, // so dir's npm was asked
	} {
		host := hostWith(t)
		host.Environ = []string{"PATH=" + c.path}
		i := &Installer{Host: *host, Untrusted: []string{project}}
		if c.name == "project first" {
			i.Host.Dir, i.Untrusted = project, nil
		}
		if c.want == "is not JSON" {
			i.Host.Environ = []string{"PATH=" + c.path + ":/usr/bin:/bin"}
		}
		if _, err := i.newRun(t.Context(), nil, &line); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestNPMEnvironment: npm config list, which runs outside of a jail, gets no variable that can make
// it load code, or read a configuration of another place.
func TestNPMEnvironment(t *testing.T) {
	given := []string{"HOME=/h", "LD_PRELOAD=/e.so", "LD_LIBRARY_PATH=/e", "DYLD_INSERT_LIBRARIES=/e", "NODE_OPTIONS=-r /e", "NODE_PATH=/e", "BASH_ENV=/e", "ENV=/e", "OPENSSL_CONF=/e", "BASH_FUNC_x%%=() { :; }", "SHELLOPTS=xtrace", "NODE_COMPILE_CACHE=/e",
		"PREFIX=/e", "DESTDIR=/e", "npm_config_userconfig=/e", "npm-config_globalconfig=/e", "npm_config_node_options=-r /e", "OTHER=/e", "NPM_NODE_EXECPATH=/e", "npm_config_registry=x", "NAMED=n", "npm_config_a=1", "npm_config_a=2", "NODE_EXTRA_CA_CERTS=/c", "PATH=/e"}
	dir := fakeNPM(t, "")
	said := filepath.Join(dir, "said")
	testkit.WriteFile(t, filepath.Join(dir, "npm"), "#!/bin/sh\n/usr/bin/env > "+said+"\n")
	testkit.WriteFile(t, filepath.Join(dir, ".npmrc"), "@own:registry=https://${NAMED}.test/${NODE_OPTIONS}${LD_PRELOAD?}${UNSET}\n")
	if _, err := askNPM(t.Context(), filepath.Join(dir, "npm"), &hostfs.Host{Home: dir, Environ: given}, []string{"/p"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, line := range strings.Fields(string(text)) {
		got[line] = true
	}
	for _, own := range []string{"HOME=/h", "npm_config_registry=x", "NODE_EXTRA_CA_CERTS=/c", "PATH=/p", "NAMED=n", "npm_config_a=2"} {
		if !got[own] {
			t.Errorf("npm does not get %s", own)
		}
	}
	for pair := range got {
		if strings.Contains(pair, "/e") {
			t.Errorf("npm gets %s", pair)
		}
	}
}
