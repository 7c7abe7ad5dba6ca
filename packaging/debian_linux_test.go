package packaging_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/container"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

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
