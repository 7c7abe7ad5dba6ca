package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestGrantAtOnce: of grants at the same time, some of which are killed, each that ended well is in the file of the
// server, which can always be read.
func TestGrantAtOnce(t *testing.T) {
	home := filepath.Join(testkit.ShortDir(t), "home")
	dir := filepath.Join(home, ".config/mcp-jail")
	must(t, os.MkdirAll(filepath.Join(dir, config.ServersDir), 0o700))
	const id = "notes-4k7q2m9x3vt5"
	must(t, os.WriteFile(filepath.Join(dir, config.ServersDir, "notes.toml"), []byte("[servers.notes]\nid = \""+id+"\"\ncommand = \"/bin/true\"\n"), 0o600))
	var mu sync.Mutex
	var granted []string
	var all sync.WaitGroup
	for i := range testkit.Rounds(8, 60) {
		all.Go(func() {
			path := fmt.Sprintf("/usr/share/%d", i)
			cmd := exec.Command("mcp-jail", "grant", "notes", "--read", path, "--yes")
			cmd.Dir, cmd.Env = home, append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_DATA_HOME=")
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			if i%2 == 1 {
				time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
				cmd.Process.Kill()
			}
			switch err := cmd.Wait(); {
			case err == nil:
				mu.Lock()
				granted = append(granted, path)
				mu.Unlock()
			case i%2 == 0:
				t.Errorf("%v\n%s", err, &out)
			}
			if _, err := config.FindServerFile(dir, id); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	f, err := config.FindServerFile(dir, id)
	must(t, err)
	for _, path := range granted {
		if !slices.ContainsFunc(f.Server.Access.Fs, func(r policy.FsRule) bool { return r.Path == path }) {
			t.Errorf("%s is lost:\n%s", path, f.Encode())
		}
	}
}
