package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// wrapUser is a user whose client has many servers.
type wrapUser struct {
	t            *testing.T
	home, file   string
	before, done []byte // the file without and with mcp-jail
}

func newWrapUser(t *testing.T) *wrapUser {
	t.Helper()
	if can, err := hostCan("jail"); err != nil || !can {
		testkit.Skip(t, "userns", "no jail: %v", err)
	}
	u := &wrapUser{t: t, home: filepath.Join(testkit.ShortDir(t), "home")}
	u.file = filepath.Join(u.home, ".claude.json")
	var servers []string
	for i := range 40 {
		servers = append(servers, fmt.Sprintf(`    "s%d": {"command": "node", "args": ["server.js", "%d"]}`, i, i))
	}
	u.before = []byte("{\n  \"mcpServers\": {\n" + strings.Join(servers, ",\n") + "\n  }\n}\n")
	must(t, os.MkdirAll(u.home, 0o700))
	u.reset()
	if out, err := u.command("wrap", "--yes").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	u.done = u.read()
	if bytes.Count(u.done, []byte(`"--id"`)) != 40 {
		t.Fatalf("wrapped:\n%s", u.done)
	}
	return u
}

func (u *wrapUser) reset() { must(u.t, os.WriteFile(u.file, u.before, 0o600)) }

func (u *wrapUser) read() []byte {
	text, err := os.ReadFile(u.file)
	must(u.t, err)
	return text
}

func (u *wrapUser) command(args ...string) *exec.Cmd {
	cmd := exec.Command("mcp-jail", args...)
	cmd.Dir = u.home
	cmd.Env = append(os.Environ(), "HOME="+u.home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_DATA_HOME=")
	return cmd
}

// TestWrapKilled kills wrap at random moments: the file is the old one or the new one, and the
// next wrap works.
func TestWrapKilled(t *testing.T) {
	t.Parallel()
	u := newWrapUser(t)
	seen := map[string]int{}
	begin := time.Now()
	u.reset()
	must(t, u.command("wrap", "--yes").Run())
	whole := time.Since(begin)
	for range 20 {
		u.reset()
		cmd := u.command("wrap", "--yes")
		must(t, cmd.Start())
		time.Sleep(rand.N(whole + whole/4))
		cmd.Process.Kill()
		cmd.Wait()
		switch now := u.read(); {
		case bytes.Equal(now, u.before):
			seen["old"]++
		case bytes.Equal(now, u.done):
			seen["new"]++
		default:
			t.Fatalf("after SIGKILL the file is\n%s", now)
		}
	}
	t.Logf("%v in %s", seen, whole)
	must(t, u.command("wrap", "--yes").Run())
	if !bytes.Equal(u.read(), u.done) {
		t.Error("the next wrap has another result")
	}
}

// TestWrapAtOnce: of several wraps at a time, each writes the whole result or says why not.
func TestWrapAtOnce(t *testing.T) {
	t.Parallel()
	u := newWrapUser(t)
	for range 5 {
		u.reset()
		var wg sync.WaitGroup
		var failed, changed sync.Map
		for i := range 4 {
			wg.Go(func() {
				out, err := u.command("wrap", "--yes").CombinedOutput()
				switch {
				case err == nil && strings.Contains(string(out), "changed: "):
					changed.Store(i, true)
				case err != nil && !strings.Contains(string(out), "was changed meanwhile") && !strings.Contains(string(out), "another mcp-jail is changing it"):
					failed.Store(i, string(out))
				}
			})
		}
		wg.Wait()
		failed.Range(func(_, out any) bool { t.Errorf("%s", out); return true })
		one := false
		changed.Range(func(any, any) bool { one = true; return false })
		if !one || !bytes.Equal(u.read(), u.done) {
			t.Errorf("changed: %t, and the file is\n%s", one, clip(u.read()))
		}
	}
}

func clip(text []byte) []byte { return text[:min(len(text), 500)] }
