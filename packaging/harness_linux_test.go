// Package packaging_test installs the packages of a release as users do, tries them, and
// removes them. The programs in them are built by the tests.
package packaging_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/container"
)

// version is the version of the packages that the tests build.
const version = "9.9.9-test.1"

// stranger is the user and group as whom root's tests start programs.
const stranger = 64123

// directory returns a directory that every user can read, and that the test removes.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "mcp-jail-packaging-")
	testkit.Must(t, err)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	testkit.Must(t, os.Chmod(dir, 0o755))
	return dir
}

// ownDirectory makes a directory that belongs to the user of the tests.
func ownDirectory(t *testing.T, name string) string {
	t.Helper()
	testkit.Must(t, os.MkdirAll(name, 0o755))
	if os.Getuid() == 0 {
		testkit.Must(t, os.Chown(name, stranger, stranger))
	}
	return name
}

// asUser makes a command run as an ordinary user, if root runs the tests.
func asUser(cmd *exec.Cmd) *exec.Cmd {
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	}
	return cmd
}

// built is the directory that TestMain removes. The programs in it are linked once for all tests,
// which copy them.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	testkit.Programs{container.Name: container.Main}.Dispatch()
	status := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(status)
}

// programs builds the three programs as a release does, and returns their directory.
func programs(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("/var/tmp", "mcp-jail-packaging-programs-"); built.err != nil {
			return
		}
		const variables = "github.com/mcp-jail/mcp-jail/cmd/internal/cmdline."
		flags := "-s -w -X " + variables + "release=" + version + " -X " + variables + "releaseCommit=0123456789"
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", built.dir+"/", "../cmd/...")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
			return
		}
		built.err = os.Chmod(built.dir, 0o755)
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir
}

// run runs a command that must succeed, and returns what it wrote to standard output.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, &out, &problems)
	}
	return out.String()
}

// write writes a file that every user can read.
func write(t *testing.T, name, text string) {
	t.Helper()
	testkit.Must(t, os.WriteFile(name, []byte(text), 0o644))
}

// processor returns node's name of this machine's processor.
func processor() string {
	if runtime.GOARCH == "amd64" {
		return "x64"
	}
	return runtime.GOARCH
}
