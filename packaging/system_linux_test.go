package packaging_test

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/container"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// TestSystemPackages installs the deb and the rpm of a release into a root directory, starts the
// program as an ordinary user, and removes the package: nothing of it stays.
func TestSystemPackages(t *testing.T) {
	testkit.NeedsLong(t)
	if os.Getuid() != 0 {
		t.Skip("dpkg --root needs root")
	}
	if _, err := exec.LookPath("dpkg"); err != nil {
		testkit.Skip(t, "dpkg", "%v", err)
	}
	base := directory(t)
	root := emptyRoot(t, base)
	empty := tree(t, root)
	dpkg := func(args ...string) string {
		// The root directory has no shell: the scripts of the package run outside of it, and find
		// it in DPKG_ROOT.
		return run(t, exec.Command("dpkg", append([]string{"--root=" + root, "--force-script-chrootless", "--log=" + base + "/log"}, args...)...))
	}
	run(t, exec.Command("bash", "generate.sh", base+"/generated"))
	readable, old := readableProfile(t, base)
	if old {
		dpkg("--install", systemPackage(t, base, "packaging/apparmor/mcp-jail", "deb"))
		if _, err := os.Stat(root + "/etc/apparmor.d/mcp-jail"); err == nil {
			t.Error("the package installs a profile that this version of AppArmor cannot read")
		}
	}
	dpkg("--install", systemPackage(t, base, readable, "deb"))
	if got := testkit.ReadFile(t, root+"/etc/apparmor.d/mcp-jail"); got != testkit.ReadFile(t, root+"/usr/share/mcp-jail/apparmor/mcp-jail") {
		t.Errorf("the profile is %s", got)
	}
	for name, mode := range map[string]fs.FileMode{
		"usr/bin/mcp-jail": 0o755, "usr/bin/mcp-jail-cli": 0o755, "usr/bin/mcp-jail-tls": 0o755,
		"usr/share/man/man1/mcp-jail-wrap.1.gz": 0o644, "usr/share/bash-completion/completions/mcp-jail": 0o644,
		"usr/share/zsh/vendor-completions/_mcp-jail": 0o644, "usr/share/fish/vendor_completions.d/mcp-jail.fish": 0o644,
		"usr/share/mcp-jail/apparmor/mcp-jail": 0o644, "usr/share/doc/mcp-jail/copyright": 0o644, "usr/share/doc/mcp-jail/THIRD_PARTY_LICENSES": 0o644,
	} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if said := run(t, asUser(exec.Command(root+"/usr/bin/mcp-jail", "--version"))); !strings.HasPrefix(said, "mcp-jail "+version+"\n") {
		t.Errorf("version: %s", said)
	}
	if said := dpkg("--status", "mcp-jail"); !strings.Contains(said, "Status: install ok installed\n") || !strings.Contains(said, "\nDescription: Starts MCP servers in a jail") {
		t.Errorf("dpkg --status: %s", said)
	}
	dpkg("--purge", "mcp-jail")
	if left := tree(t, root); left != empty {
		t.Errorf("after the removal:\n%s\nbefore the installation:\n%s", left, empty)
	}
	t.Run("rpm", func(t *testing.T) { testRPM(t, root, systemPackage(t, base, readable, "rpm")) })
}

// testRPM installs the rpm into the same root directory, and removes it. Its scripts are those of
// the deb; rpm would need a shell there to run them.
func testRPM(t *testing.T, root, file string) {
	if _, err := exec.LookPath("rpm"); err != nil {
		testkit.Skip(t, "rpm", "%v", err)
	}
	rpm := func(args ...string) string {
		return run(t, exec.Command("rpm", append([]string{"--root=" + root, "--dbpath=/var/lib/dpkg/rpm"}, args...)...))
	}
	empty := tree(t, root)
	rpm("--install", "--nodeps", "--noscripts", file)
	if said := rpm("--query", "--list", "mcp-jail"); !strings.Contains(said, "/usr/bin/mcp-jail-cli\n") || !strings.Contains(said, "/usr/share/zsh/site-functions/_mcp-jail\n") {
		t.Errorf("the rpm has %s", said)
	}
	rpm("--verify", "mcp-jail")
	if said := run(t, asUser(exec.Command(root+"/usr/bin/mcp-jail", "--version"))); !strings.HasPrefix(said, "mcp-jail "+version+"\n") {
		t.Errorf("version: %s", said)
	}
	rpm("--erase", "--noscripts", "mcp-jail")
	if left := tree(t, root); left != empty {
		t.Errorf("after the removal:\n%s\nbefore the installation:\n%s", left, empty)
	}
}

// readableProfile returns the file with the AppArmor profile. If the host's parser is older than
// version 4, it is a copy without the lines that this cannot read.
func readableProfile(t *testing.T, base string) (file string, old bool) {
	t.Helper()
	file = "packaging/apparmor/mcp-jail"
	said, err := exec.Command("apparmor_parser", "--version").Output()
	if err != nil {
		testkit.Skip(t, "apparmor_parser", "%v", err)
	}
	if !strings.Contains(string(said), " version 2.") && !strings.Contains(string(said), " version 3.") {
		return file, false
	}
	text := strings.NewReplacer("abi <abi/4.0>,\n", "", "  userns,\n", "").Replace(testkit.ReadFile(t, "../"+file))
	file = base + "/profile"
	write(t, file, text)
	return file, true
}

// systemPackage builds the deb or the rpm with nfpm, from the configuration of goreleaser, but with
// the AppArmor profile of a file.
func systemPackage(t *testing.T, base, profile, format string) string {
	t.Helper()
	var release struct {
		Nfpms []map[string]any
	}
	text := testkit.ReadFile(t, "../.goreleaser.yaml")
	if err := yaml.Unmarshal([]byte(text), &release); err != nil || len(release.Nfpms) != 1 {
		t.Fatal(release, err)
	}
	config := release.Nfpms[0]
	contents := config["contents"].([]any)
	for _, c := range contents {
		c := c.(map[string]any)
		src, _ := c["src"].(string) // a directory has none
		if name, ok := strings.CutPrefix(src, "bin/"); ok {
			c["src"] = base + "/generated/" + name
		} else if src == "packaging/apparmor/mcp-jail" {
			c["src"] = profile
		}
	}
	for _, name := range []string{"mcp-jail", "mcp-jail-cli", "mcp-jail-tls"} {
		contents = append(contents, map[string]any{"src": filepath.Join(programs(t), name), "dst": config["bindir"].(string) + "/" + name, "file_info": map[string]any{"mode": 0o755}})
	}
	// These four are goreleaser's own.
	config["name"], config["contents"], config["version"], config["arch"] = config["package_name"], contents, version, runtime.GOARCH
	for _, key := range []string{"package_name", "formats", "bindir", "mtime"} {
		delete(config, key)
	}
	out, err := yaml.Marshal(config)
	testkit.Must(t, err)
	write(t, base+"/nfpm.yaml", string(out))
	file := base + "/mcp-jail." + format
	nfpm := exec.Command("go", "tool", "-modfile=packaging/tools/go.mod", "nfpm", "package", "--config", base+"/nfpm.yaml", "--packager", format, "--target", file)
	nfpm.Dir = ".."
	run(t, nfpm)
	return file
}

// emptyRoot returns a root directory with what dpkg needs, and directories that other packages
// use: dpkg removes the others.
func emptyRoot(t *testing.T, base string) string {
	t.Helper()
	root := base + "/root"
	for _, dir := range []string{
		"var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "etc/apparmor.d", "usr/bin", "usr/share/man/man1", "usr/share/doc",
		"usr/share/licenses", "usr/share/bash-completion/completions", "usr/share/zsh/vendor-completions", "usr/share/zsh/site-functions", "usr/share/fish/vendor_completions.d",
	} {
		testkit.Must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
		write(t, filepath.Join(root, dir, "other"), "")
	}
	for _, file := range []string{"status", "available", "diversions", "statoverride"} {
		write(t, filepath.Join(root, "var/lib/dpkg", file), "")
	}
	return root
}

// tree lists the files below a root directory, except for dpkg's own.
func tree(t *testing.T, root string) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasSuffix(name, "/var/lib/dpkg") {
			return filepath.SkipDir
		}
		names = append(names, strings.TrimPrefix(name, root))
		return err
	})
	testkit.Must(t, err)
	return strings.Join(names, "\n")
}

// The node and npm of the Debian, from npm.
const (
	debianNode = "22.23.3"
	debianNPM  = "10.9.4"
)

// debian is a Debian with node, npm and mcp-jail, and nothing else.
type debian struct {
	t          *testing.T
	root, base string
	site       string
}

// TestDebian installs the packages for npm in a Debian that debootstrap has made, and puts a server
// of npx into a jail there, as an ordinary user: with namespaces, and in a container of Docker.
// TestNPM and TestContainers are its short forms.
func TestDebian(t *testing.T) {
	testkit.NeedsLong(t)
	if os.Getuid() != 0 {
		t.Skip("debootstrap needs root")
	}
	for _, program := range []string{"debootstrap", "npm", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			testkit.Skip(t, program, "%v", err)
		}
	}
	d := newDebian(t)
	d.installNode()
	d.installPackages()
	tracer := append(slices.Clone(container.DefaultCaps), "CAP_SYS_PTRACE")
	t.Run("namespaces", func(t *testing.T) {
		u := d.user("with", container.Container{UID: stranger})
		if out, err := u.mcpJail("doctor").CombinedOutput(); err != nil || !strings.Contains(string(out), "a test program ran in a jail") {
			t.Errorf("doctor: %v, %s", err, out)
		}
		run(t, u.mcpJail("wrap", "--yes"))
		u.starts(t)
	})
	t.Run("docker", func(t *testing.T) {
		u := d.user("without", container.Container{UID: stranger, Caps: tracer, Filter: container.Moby(t, tracer), MaskProc: true})
		before := testkit.ReadFile(t, u.file())
		const accept = "--waive fs,process,limits"
		refused := u.mcpJail("wrap", "--yes")
		out, _ := refused.CombinedOutput()
		if refused.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), accept) || testkit.ReadFile(t, u.file()) != before {
			t.Errorf("wrap --yes: %s, %s", refused.ProcessState, out)
		}
		run(t, u.mcpJail(append([]string{"wrap", "--yes"}, strings.Fields(accept)...)...))
		u.starts(t)
		if run(t, u.mcpJail("unwrap", "--yes")); testkit.ReadFile(t, u.file()) != before {
			t.Errorf("unwrap left %s", testkit.ReadFile(t, u.file()))
		}
	})
}

func newDebian(t *testing.T) *debian {
	d := &debian{t: t, base: directory(t)}
	d.root = d.base + "/root"
	d.site = registry.Start(t, registry.Stock{Packages: []registry.Package{registry.MCPServer{Name: "greeter"}.Package()}}).URL
	run(t, exec.Command("debootstrap", "--variant=minbase", "bookworm", d.root))
	return d
}

// installNode installs node and npm below /usr/local, from their packages.
func (d *debian) installNode() {
	pack := exec.Command("npm", "pack", "--silent", "node-linux-"+processor()+"@"+debianNode, "npm@"+debianNPM)
	pack.Dir = d.base
	run(d.t, pack)
	modules := d.root + "/usr/local/lib/node_modules/npm"
	testkit.Must(d.t, os.MkdirAll(modules, 0o755))
	run(d.t, exec.Command("tar", "-C", d.root+"/usr/local", "--strip-components=1", "-xzf", d.base+"/node-linux-"+processor()+"-"+debianNode+".tgz", "package/bin/node"))
	run(d.t, exec.Command("tar", "-C", modules, "--strip-components=1", "-xzf", d.base+"/npm-"+debianNPM+".tgz"))
	for _, name := range []string{"npm", "npx"} {
		testkit.Must(d.t, os.Symlink("../lib/node_modules/npm/bin/"+name+"-cli.js", d.root+"/usr/local/bin/"+name))
	}
}

// installPackages installs the packages of a release from their files, as root does.
func (d *debian) installPackages() {
	packed(d.t, d.base)
	testkit.Must(d.t, os.Mkdir(d.root+"/packages", 0o755))
	args := []string{"install", "-g", "--no-audit"}
	for _, name := range []string{"linux-" + processor(), "mcp-jail"} {
		files, err := filepath.Glob(d.base + "/packed/" + name + "/*.tgz")
		if err != nil || len(files) != 1 {
			d.t.Fatal(files, err)
		}
		run(d.t, exec.Command("cp", files[0], d.root+"/packages/"))
		args = append(args, "/packages/"+filepath.Base(files[0]))
	}
	run(d.t, d.command(container.Container{}, "/root", "npm", args...))
}

func (d *debian) command(c container.Container, home, program string, args ...string) *exec.Cmd {
	c.Root = d.root
	cmd := exec.Command("/usr/local/bin/"+program, args...)
	cmd.Dir = home
	cmd.Env = append(registry.Environ(d.site, home), "PATH=/usr/local/bin:/usr/bin:/bin", "TMPDIR=/tmp", "npm_config_prefix=/usr/local")
	return c.Around(d.t, cmd)
}

// debianUser is an ordinary user with a client, in a container.
type debianUser struct {
	*debian
	home string // inside
	in   container.Container
}

func (d *debian) user(name string, in container.Container) debianUser {
	u := debianUser{d, "/home/" + name, in}
	testkit.Must(d.t, os.MkdirAll(d.root+u.home+"/.cursor", 0o755))
	write(d.t, u.file(), `{"mcpServers": {"greeter": {"command": "npx", "args": ["-y", "greeter"]}}}`)
	run(d.t, exec.Command("chown", "-R", fmt.Sprintf("%d:%d", stranger, stranger), d.root+u.home))
	return u
}

func (u debianUser) file() string { return u.root + u.home + "/.cursor/mcp.json" }

func (u debianUser) mcpJail(args ...string) *exec.Cmd {
	return u.command(u.in, u.home, "mcp-jail", args...)
}

// starts starts the line in the client's file twice: the first start may fetch.
func (u debianUser) starts(t *testing.T) {
	t.Helper()
	var config struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	testkit.Must(t, json.Unmarshal([]byte(testkit.ReadFile(t, u.file())), &config))
	entry := config.MCPServers["greeter"]
	if filepath.Base(entry.Command) != "mcp-jail" {
		t.Fatalf("the client is to start %s", entry.Command)
	}
	for range 2 {
		cmd := u.mcpJail(entry.Args...)
		s := start(t, cmd)
		s.stdin.Close()
		io.Copy(io.Discard, s.stdout)
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("at its end: %v", err)
		}
	}
}
