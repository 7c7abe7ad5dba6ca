package mac

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// launches makes this binary a launcher. With -p it stands for sandbox-exec: it executes what it is given, and confines nothing. Its
// profile is a status to end with, a signal, or "".
const launches = "mcp-jail: launcher of a test"

func init() { asProgram = launcherMain }

func launcherMain() {
	Main()
	if len(os.Args) > 4 && os.Args[1] == "-p" {
		standIn(os.Args[2], os.Args[3:])
	}
	if len(os.Args) == 3 && os.Args[1] == launches {
		p, err := Start(context.Background(), command(os.Args[2], "", "sleep 1000 & sleep 1000"))
		fmt.Println(p.PID, err)
		select {}
	}
}

func standIn(profile string, args []string) {
	if len(args) < 3 || args[0] != "--" {
		os.Exit(64)
	}
	switch how, said, _ := strings.Cut(profile, " "); how {
	case "":
		os.Stderr.WriteString(fmt.Sprint(unix.Exec(args[1], args[1:], os.Environ())))
	case "hang":
		time.Sleep(time.Hour)
	case "abort":
		unix.Exec("/bin/sh", []string{"sh", "-c", "kill -ABRT $$"}, nil)
	default:
		os.Stderr.WriteString(said + "\n")
		status, _ := strconv.Atoi(how)
		os.Exit(status)
	}
}

// command starts a script of sh with a TMPDIR.
func command(temp, profile, script string) Command {
	self, _ := os.Executable()
	return Command{
		Text: seatbelt.Text{Profile: profile}, Self: self, Sandbox: self,
		Spec: &spec.Spec{Program: "/bin/sh", Argv: []string{"a name", "-c", script}, Env: []string{"A=b"}, Dir: "/", TempDir: temp, Umask: spec.UnknownUmask},
	}
}

// output starts a command, and returns what it wrote and how it ended.
func output(t *testing.T, c Command) (string, syscall.WaitStatus) {
	t.Helper()
	r, w, err := os.Pipe()
	testkit.Must(t, err)
	defer r.Close()
	c.Stdio[1], c.Stdio[2] = w, w
	p, err := Start(t.Context(), c)
	w.Close()
	testkit.Must(t, err)
	var said bytes.Buffer
	io.Copy(&said, r)
	return said.String(), p.Wait()
}

// TestServer: what the server gets, and how its end comes out.
func TestServer(t *testing.T) {
	c := command("", "", `echo "$0 $A $(pwd) $(umask) $(ulimit -n) $(env | grep -c =) $(ls /proc/self/fd | wc -l)" >&2; exit 7`)
	c.Spec.Umask, c.Spec.Limits.OpenFiles, c.Spec.Dir = 0o27, 99, "/usr"
	said, ws := output(t, c)
	// sh adds PWD, and ls has its directory open
	if want := "a name b /usr 0027 99 2 4\n"; said != want && said != strings.Replace(want, " 2 4", " 3 4", 1) && said != strings.Replace(want, " 2 4", " 4 4", 1) || ws.ExitStatus() != 7 {
		t.Errorf("%q, want %q; %v", said, want, ws.ExitStatus())
	}
	if _, ws := output(t, command("", "", "kill -TERM $$")); ws.Signal() != unix.SIGTERM {
		t.Errorf("ended by %v", ws.Signal())
	}
}

// TestFailures: each failure before the server was executed says what it is.
func TestFailures(t *testing.T) {
	for profile, want := range map[string]string{
		"65 unbound variable: file-flies": stepApply + "|file-flies", "71 sandbox_apply: Operation not permitted": stepApply + "|another sandbox",
		"71 execvp() failed": stepApply + "|own program", "abort": stepReady + "|aborted", "1": stepReady + "|status 1",
	} {
		_, err := Start(t.Context(), command("", profile, "exit"))
		name, words, _ := strings.Cut(want, "|")
		var failed *sys.Error
		if !errors.As(err, &failed) || failed.Step != name || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", profile, err)
		}
	}
	c := command("", "", "")
	c.Spec.Program = "/missing"
	if _, err := Start(t.Context(), c); !errors.Is(err, unix.ENOENT) || !strings.Contains(err.Error(), "/missing") {
		t.Errorf("a missing program: %v", err)
	}
	c = command("", "", "")
	c.Spec.Dir = "/missing"
	if _, err := Start(t.Context(), c); !errors.Is(err, unix.ENOENT) || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a missing directory: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	testkit.Is(t, "one that hangs", testkit.ErrorOf(Start(ctx, command("", "hang", ""))), context.DeadlineExceeded)
}

func ended(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) || zombie(pid) }

func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && bytes.Contains(b, []byte(") Z "))
}

// TestGroupEnds: what the server leaves in its group ends with it, and all of it by Kill.
func TestGroupEnds(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		kill         bool
	}{
		{"left", "sleep 1000 & echo $! >$A", false},
		{"killed", "sleep 1000 & echo $! >$A; sleep 1000", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := command("", "", tt.script)
			file := filepath.Join(t.TempDir(), "pid")
			c.Spec.Env = []string{"A=" + file, "PATH=/usr/bin:/bin"}
			p, err := Start(t.Context(), c)
			testkit.Must(t, err)
			var child int
			testkit.Eventually(t, "its child", func() bool {
				b, _ := os.ReadFile(file)
				child, err = strconv.Atoi(strings.TrimSpace(string(b)))
				return err == nil
			})
			if tt.kill {
				testkit.Works(t, "control: the server runs", p.Signal(0))
				if ended(child) {
					t.Error("control: the child has ended by itself")
				}
				p.Kill()
			}
			p.Wait()
			if !ended(child) {
				t.Error("a process is left")
			}
			p.Kill() // nothing, by now
		})
	}
}

// TestLauncherKilled: the watcher ends the group of a launcher that was killed, and removes the TMPDIR.
func TestLauncherKilled(t *testing.T) {
	temp := filepath.Join(t.TempDir(), "temp")
	testkit.Must(t, os.Mkdir(temp, 0o700))
	self := testkit.Get(os.Executable())(t)
	launcher := exec.Command(self, launches, temp)
	out, err := launcher.StdoutPipe()
	if err == nil {
		err = launcher.Start()
	}
	testkit.Must(t, err)
	var pid int
	var rest string
	if _, err := fmt.Fscan(out, &pid, &rest); err != nil || rest != "<nil>" || ended(pid) {
		t.Fatalf("%d %s, %v", pid, rest, err)
	}
	launcher.Process.Kill()
	launcher.Wait()
	testkit.Eventually(t, "the end of the server", func() bool {
		_, err := os.Lstat(temp)
		return ended(pid) && os.IsNotExist(err)
	})
}
