package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/features/featurestest"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
	"golang.org/x/sys/unix"
)

const (
	foldProgram = "mcp-jail-fold"      // serves a filesystem that ignores case, and runs the rest of argv
	foldEnv     = "MCPJAIL_TEST_FOLDS" // where it is
)

// TestCaseInsensitiveFilesystems runs TestCaseInsensitive on filesystems that ignore case, in a mount namespace of
// its own: with namespaces and without, as root and as an ordinary user.
func TestCaseInsensitiveFilesystems(t *testing.T) {
	jailtest.Needs(t)
	if os.Getuid() != 0 || os.Getenv("MCPJAIL_TEST_BINARY") != "" {
		t.Skip("root mounts them, and runs it as others too")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		testkit.Skip(t, "fuse", "%v", err)
	}
	// Four of the eight combinations have each pair of a kind, a world and a user.
	for _, c := range []struct{ kind, how, user string }{
		{"known", "", "root"}, {"known", "filter", "user"}, {"anew", "", "user"}, {"anew", "filter", "root"},
	} {
		kind, how, user := c.kind, c.how, c.user
		name := kind + " directories, " + user
		if how != "" {
			name += ", without namespaces"
		}
		t.Run(name, func(t *testing.T) {
			home, err := os.MkdirTemp(jailtest.Dir, "fold")
			testkit.Must(t, err)
			run := []string{jailtest.Binary, "-test.run=^TestCaseInsensitive$", "-test.v"}
			if user == "user" {
				testkit.Must(t, os.Chown(home, jailtest.OrdinaryUser, jailtest.OrdinaryUser))
				run = append([]string{attacker.AsUserName, jailtest.Binary}, run[1:]...)
			}
			place := filepath.Join(jailtest.Dir, fmt.Sprintf("%s-%s-%s", kind, how, user))
			testkit.Must(t, os.Mkdir(place, 0o755))
			cmd := exec.Command(jailtest.Binary)
			cmd.Args = append([]string{foldProgram, place, kind}, run...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
			cmd.Dir = home
			cmd.Env = append(os.Environ(), "MCPJAIL_TEST_BINARY="+jailtest.Binary, "TMPDIR="+home, "HOME="+home, "XDG_STATE_HOME="+home, foldEnv+"="+place)
			if how != "" {
				cmd.Env = append(cmd.Env, "MCPJAIL_TEST_FOLD_HOW="+how)
			}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: TestCaseInsensitive") {
				t.Errorf("%v\n%s", err, out)
			} else {
				t.Logf("%s", out) // for the check of what was skipped
			}
		})
	}
}

// runFold mounts the filesystem, runs a test there, and ends as it does.
func runFold(argv []string) {
	place, kind, run := argv[0], argv[1], argv[2:]
	if err := mountFoldFS(place, kind == "anew"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cmd := exec.Command(attacker.Executable())
	cmd.Args, cmd.Stdout, cmd.Stderr, cmd.Env = run, os.Stdout, os.Stderr, os.Environ()
	if how := os.Getenv("MCPJAIL_TEST_FOLD_HOW"); how != "" {
		cmd.Env = append(cmd.Env, jailtest.ForbidEnv+"="+how)
	}
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// foldedProfile resolves rules for a directory as they are for a real start.
func foldedProfile(t *testing.T, dir string, rules ...policy.FsRule) *policy.Profile {
	t.Helper()
	p, err := config.FromCommandLine(config.CommandLineOptions{Command: []string{jailtest.Binary}, Write: []string{dir}})
	testkit.Must(t, err)
	for _, r := range rules {
		r.Path = dir + "/" + r.Path
		p.Fs = append(p.Fs, r)
	}
	host, err := hostfs.LocalHost()
	testkit.Must(t, err)
	host.Dir = dir
	profile, _, err := resolve.Resolve(p, host)
	testkit.Must(t, err)
	profile.Argv = []string{attacker.Name}
	return profile
}

var foldTree = []string{"config", "Secret.env", "hid/x", "ro/x", "free"}

// TestCaseInsensitive: another spelling of a name gives no write and no read that the name
// itself does not give. A start that cannot hold this names the file.
func TestCaseInsensitive(t *testing.T) {
	if os.Getenv(foldEnv) == "" {
		t.Skip("root runs it, in TestCaseInsensitiveFilesystems")
	}
	featurestest.Needs(t, "landlock", "seccomp")
	testkit.Must(t, jailtest.MakeDir())
	hostNS := features.ProbeUserNamespaces().Answer == features.No
	count := 0
	fresh := func() string {
		count++
		dir := fmt.Sprint(os.Getenv(foldEnv), "/", count)
		testkit.Must(t, os.Mkdir(dir, 0o755))
		testkit.PlantBelow(t, dir, foldTree...)
		return dir
	}
	denied := policy.FsRule{Deny: policy.Write}
	at := func(path string, r policy.FsRule) policy.FsRule { r.Path = path; return r }
	writes := []string{
		"write DIR/CONFIG", "append DIR/Config", "truncate DIR/CONFIG", "open-truncate DIR/CONFIG", "creating DIR/CONFIG", "unlink DIR/CONFIG",
		"rename DIR/CONFIG DIR/x", "rename DIR/free DIR/CONFIG", "exchange DIR/free DIR/CONFIG", "link DIR/CONFIG DIR/z", "reopen-fd DIR/CONFIG",
		"chmod DIR/CONFIG", "chmod-fd DIR/CONFIG", "utimes DIR/CONFIG", "write DIR/RO/x", "write DIR/ro/X", "creating DIR/Ro/new", "rename DIR/RO DIR/moved",
		"mkdir DIR/RO/new", "unlink DIR/RO/x", "create DIR/LATER", "mkdir DIR/Later", "rename DIR/free DIR/LATER",
	}
	reads := []string{"read DIR/SECRET.ENV", "read DIR/secret.env", "reopen-fd DIR/SECRET.ENV", "list DIR/HID", "read DIR/HID/x", "read DIR/Hid/X", "link DIR/SECRET.ENV DIR/z"}
	in := func(a, dir string) attacker.Attempt { return strings.Fields(strings.ReplaceAll(a, "DIR", dir)) }
	for _, a := range append(writes, reads...) {
		got := jailtest.Unconfined(t, "/", in(a, fresh()))[0]
		if !strings.HasPrefix(got, attacker.Succeeded) {
			t.Errorf("unconfined, %s: %s", a, got)
		}
	}
	launcher := confine.Launcher{}
	if hostNS {
		launcher = jailtest.WaivesGaps
	}
	refuse := func(p func(dir string) *policy.Profile, attempts []string) {
		t.Helper()
		for _, a := range attempts {
			dir := fresh()
			before := jailtest.HostTree(t, dir)
			out, err := jailtest.Run(t, launcher, p(dir), []attacker.Attempt{in(a, dir)})
			if err != nil {
				t.Fatalf("%s: %v", a, err)
			}
			if strings.HasPrefix(out[0], attacker.Succeeded) || jailtest.HostTree(t, dir) != before {
				t.Errorf("%s: %s\n%s\nto\n%s", a, out[0], before, jailtest.HostTree(t, dir))
			}
		}
	}
	narrow := func(dir string) *policy.Profile {
		return foldedProfile(t, dir, at("config", denied), at("ro", denied), at("later", denied))
	}
	refuse(narrow, writes)
	dir := fresh()
	out, err := jailtest.Run(t, launcher, narrow(dir), []attacker.Attempt{attacker.Try("write", dir+"/FREE"), attacker.Try("read", dir+"/Config"), attacker.Try("create", dir+"/New"), attacker.Try("read", dir+"/NEW"), attacker.Try("unlink", dir+"/free")})
	if err != nil || fmt.Sprint(out) != "[ok ok config ok ok ok]" {
		t.Errorf("what is granted: %v, %v", out, err)
	}
	hiding := func(dir string) *policy.Profile {
		return foldedProfile(t, dir, at("Secret.env", policy.FsRule{Deny: policy.AllRights}), at("hid", policy.FsRule{Deny: policy.AllRights}))
	}
	if hostNS {
		refuse(hiding, reads)
		return
	}
	dir = fresh()
	_, err = confine.Launcher{}.Start(t.Context(), hiding(dir), jail.Stdio{})
	var gaps *plan.GapError
	if !errors.As(err, &gaps) || !strings.Contains(err.Error(), dir+"/Secret.env") || !strings.Contains(err.Error(), dir+"/secret.env") {
		t.Errorf("a file that is hidden under one of its spellings: %v", err)
	}
	if anew := strings.Contains(os.Getenv(foldEnv), "anew"); strings.Contains(fmt.Sprint(err), dir+"/hid") != anew {
		t.Errorf("a directory that is hidden: %v", err)
	}
	// And that is so: this is what is waived.
	out, err = jailtest.Run(t, confine.Launcher{Waive: []policy.Axis{policy.AxisFs}}, hiding(dir), []attacker.Attempt{attacker.Try("read", dir+"/Secret.env"), attacker.Try("read", dir+"/SECRET.ENV")})
	if err != nil || out[0] != unix.ErrnoName(unix.EACCES) || out[1] != "ok Secret.env" {
		t.Errorf("waived: %v, %v", out, err)
	}
}
