package attacks

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
	"golang.org/x/sys/unix"
)

// A stage is the tree of the host for one attempt: a home directory that is granted as a whole,
// with files in it that the jail protects all the same, and directories beside it that are not
// granted.
type stage struct {
	suite *suite
	root  string
}

// stageWords are the words of forms whose objects differ from attempt to attempt.
var stageWords = []string{"HOSTTMP", "HOSTSHM", "HOME", "WS", "OUT", "PRE", "INIT", "STATE", "HANDLE", "ABSTRACT"}

// stageTree is planted below the root. The content of a file is its name.
var stageTree = []string{
	// Not granted: beside the home directory, one with its name as a prefix.
	"out/secret", "out/full/inner", "out/empty/", "out/exe", "out/link -> secret", "home-secret/secret", "elsewhere/secret",
	// The user's home directory.
	"home/.ssh/id", "home/.ssh/known_hosts", "home/.aws/credentials", "home/.bash_history", "home/.netrc", "home/.sshfoo",
	"home/.mcp.json", "home/.claude.json", "home/.cursor/mcp.json", "home/.codex/config.toml",
	"home/.bashrc", "home/.config/git/config", "home/.inputrc -> ws/dotfiles/rc", "home/ws/dotfiles/rc", "home/bin/",
	"home/.config/mcp-jail/config.toml", "home/.config/gh/hosts.yml",
	"home/.local/state/mcp-jail/trust.toml", "home/.local/state/mcp-jail/servers/other/home/token", "home/.local/state/mcp-jail/servers/other/last.json",
	"home/.cache/mcp-jail/catalog/other", "home/apps/mcp-jail", "home/note",
	// The workspace in it.
	"home/ws/a", "home/ws/b", "home/ws/empty/", "home/ws/full/inner", "home/ws/out -> ../../out/secret", "home/ws/outdir -> ../../out",
	"home/ws/.env", "home/ws/pkg/.env.local", "home/ws/pkg/code", "home/ws/.env-link -> a", "home/ws/hard = home/ws/.env",
	"home/ws/.git/config", "home/ws/.git/hooks/pre", "home/ws/.git/HEAD", "home/ws/.git/index", "home/ws/.vscode/tasks.json",
	"home/ws/sub/dir/.git/config", "home/ws/sub/dir/.git/hooks/pre", "home/ws/sub/dir/.git/HEAD",
	"home/ws/.github/workflows/ci.yml", "home/ws/.mcp.json", "home/ws/.husky/pre-commit",
	"home/ws/src/code", "home/ws/src/generated/code", "home/ws/src/generated/hidden/key", "home/ws/src/generated/hiddenfoo",
	"home/ws/tools/tool", "home/ws/moved/inner",
}

const stagePolicy = `
[servers.attacker]
command = %[1]q
workspace = %[2]q
[servers.attacker.access]
fs = [
	{ path = "~/", read = true, write = true },
	{ path = "src", deny = "write" },
	{ path = "src/generated/hidden", deny = true },
	{ path = "tools", read = true, execute = true },
	{ path = "tools", deny = "write" },
	{ path = %[3]q, read = true, execute = true },
	{ path = %[4]q, read = true, execute = true },
	{ path = %[5]q, read = true, execute = true },
]
`

// touches reports whether a form needs a stage of its own.
func touches(form string) bool {
	return slices.ContainsFunc(stageWords, func(w string) bool { return w != "INIT" && strings.Contains(form, w) })
}

func newStage(t *testing.T, s *suite) *stage {
	t.Helper()
	root, err := os.MkdirTemp("", "mcp-jail-attack-") // not t.TempDir: an address has room for 107 bytes
	testkit.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(root) })
	st := &stage{suite: s, root: root}
	for _, p := range []string{st.word(unjailed, "HOSTTMP"), st.word(unjailed, "HOSTSHM")} {
		testkit.Must(t, os.WriteFile(p, []byte("secret"), 0o600))
		t.Cleanup(func() { os.Remove(p) })
	}
	testkit.PlantBelow(t, root, stageTree...)
	if err := unix.Setxattr(root+"/out/secret", "user.secret", []byte("secret"), 0); err != nil && err != unix.EOPNOTSUPP {
		t.Fatal(err)
	}
	program := testkit.Get(os.ReadFile("/usr/bin/true"))(t)
	for _, name := range []string{"out/exe", "home/ws/exe", "home/ws/src/exe", "home/ws/tools/exe"} {
		testkit.Must(t, testkit.WriteProgram(filepath.Join(st.root, name), program))
	}
	for _, name := range []string{"out/fifo", "home/ws/fifo"} {
		testkit.Must(t, unix.Mkfifo(filepath.Join(st.root, name), 0o600))
	}
	return st
}

// word returns the object that a word of stageWords stands for. The jail's init has the process
// ID 1 inside. Elsewhere the process that started the attempt takes its part.
func (st *stage) word(w world, word string) string {
	switch word {
	case "INIT":
		if w == jail || w == wallNamespaces || w == wallMediation {
			return "1"
		}
		return fmt.Sprint(os.Getpid())
	case "HOSTTMP":
		return "/tmp/" + filepath.Base(st.root)
	case "HOSTSHM":
		return "/dev/shm/" + filepath.Base(st.root)
	case "HOME":
		return st.root + "/home"
	case "WS":
		return st.root + "/home/ws"
	case "OUT":
		return st.root + "/out"
	case "PRE":
		return st.root + "/home-secret"
	case "HANDLE":
		h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, st.root+"/out/secret", 0)
		if err != nil {
			return "0:00"
		}
		return fmt.Sprintf("%d:%x", h.Type(), h.Bytes())
	case "ABSTRACT":
		return "mcp-jail-attack" + strings.ReplaceAll(st.root, "/", "-")
	}
	return st.root + "/home/.local/state/mcp-jail"
}

// mover is the host's part of read-moved. When the attacker is ready in the directory, mover
// moves the directory out of the grant.
func (st *stage) mover() {
	from := st.root + "/home/ws/moved"
	for range 2000 {
		if _, err := os.Stat(from + "/ready"); err == nil {
			os.Rename(from, st.root+"/elsewhere/moved")
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// untouchable returns the state of all files that no attack may change.
func (st *stage) untouchable(t *testing.T) string {
	var b strings.Builder
	for _, dir := range []string{
		"out", "home-secret", "home/.ssh", "home/.cursor", "home/.codex", "home/.config/mcp-jail", "home/apps", "home/.config/git", "home/.bashrc", "home/bin", "home/ws/dotfiles", "home/ws/src/code",
		"home/.local/state/mcp-jail/trust.toml", "home/.local/state/mcp-jail/servers/other", "home/.cache/mcp-jail", "home/ws/.git/hooks", "home/ws/.git/config",
		"home/ws/.vscode", "home/ws/sub/dir/.git/hooks", "home/ws/sub/dir/.git/config", "home/ws/src/generated/hidden", "home/ws/tools",
	} {
		fmt.Fprintf(&b, "%s:\n%s", dir, jailtest.HostTree(t, filepath.Join(st.root, dir)))
	}
	return b.String()
}

// sockets listens on the sockets that a form names, as daemons of the host do.
func (st *stage) sockets(t *testing.T, form string) {
	for _, place := range []string{"out", "home/ws"} {
		if strings.Contains(form, "sock") {
			st.handOut(t, filepath.Join(st.root, place, "sock"))
		}
		if strings.Contains(form, "dgram") {
			st.receive(t, filepath.Join(st.root, place, "dgram"))
		}
	}
	if strings.Contains(form, "ABSTRACT") {
		name := "@" + st.word(unjailed, "ABSTRACT")
		st.handOut(t, name)
		st.receive(t, name+"-dgram")
	}
}

// handOut listens on a socket and passes each client a descriptor of a file that is not granted.
func (st *stage) handOut(t *testing.T, name string) {
	t.Helper()
	l := testkit.Get(net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"}))(t)
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			if f, err := os.Open(st.root + "/out/secret"); err == nil {
				c.WriteMsgUnix([]byte{0}, unix.UnixRights(int(f.Fd())), nil)
				f.Close()
			}
			c.Close()
		}
	}()
}

func (st *stage) receive(t *testing.T, name string) {
	t.Helper()
	c := testkit.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"}))(t)
	t.Cleanup(func() { c.Close() })
}

// profile resolves the policy of the stage as for a real start.
func (st *stage) profile(t *testing.T) *policy.Profile {
	t.Helper()
	text := fmt.Sprintf(stagePolicy, jailtest.Binary, st.root+"/home/ws", jailtest.Binary, st.suite.words["SETID"], st.suite.words["CAPFILE"])
	cfg := testkit.Get(config.Decode([]byte(text), "attacks.toml"))(t)
	p := testkit.Get(cfg.Policy("attacker", ""))(t)
	host := testkit.Get(hostfs.LocalHost())(t)
	host.Home, host.Dir = st.root+"/home", st.root+"/home/ws"
	host.ConfigDir, host.StateDir = st.root+"/home/.config/mcp-jail", st.root+"/home/.local/state/mcp-jail"
	host.CacheDir = st.root + "/home/.cache/mcp-jail"
	host.Executable = st.root + "/home/apps/mcp-jail"
	profile, _, err := resolve.Resolve(p, host)
	testkit.Must(t, err)
	profile.Argv = []string{attacker.Name}
	return profile
}
