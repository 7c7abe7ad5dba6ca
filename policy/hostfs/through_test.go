//go:build unix

package hostfs

import (
	"errors"
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestThrough: a path leads through a directory if one of its links does, in every spelling of the directory.
func TestThrough(t *testing.T) {
	dir := testkit.Plant(t, "ws/program", "ws/sub/", "outside/program", "ws-2/program")
	link := func(target, name string) { testkit.Must(t, os.Symlink(target, dir+"/"+name)) }
	link("../outside/program", "ws/out")
	link("ws/out", "by-link")
	link("ws", "other-name")
	link("outside", "away")
	link("loop", "loop")
	link("ws/sub", "up")
	for name, want := range map[string]bool{
		"ws": true, "ws/program": true, "ws/none": true, "ws/sub/../program": true, "ws/out": true, "by-link": true, "other-name/program": true,
		"other-name/out": true, "outside/../ws/program": true, "loop/program": true, "up/../../outside/program": true,
		"outside/program": false, "away/program": false, "ws-2/program": false, "none": false, "": false,
	} {
		for _, space := range []string{"ws", "other-name"} {
			if got := Through(dir+"/"+name, dir+"/"+space); got != want {
				t.Errorf("%q through %s: %t, want %t", name, space, got, want)
			}
		}
	}
	if !Through("/usr/bin/true", "/") || Through("/usr/bin/true", dir+"/none") || !Through(dir+"/none/x", dir+"/none") {
		t.Error(errors.New("the root, or a directory that is not there"))
	}
}
