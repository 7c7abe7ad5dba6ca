package commands

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestHarms: what trust says of the rules of a project's file.
func TestHarms(t *testing.T) {
	host, err := hostfs.LocalHost()
	testkit.Must(t, err)
	p := &policy.Policy{
		Fs:  []policy.FsRule{{Path: ".", Read: true}, {Path: "~/.npm", Create: true}, {Path: "~/.bashrc", Update: true}, {Path: "~/a/b/c", Read: true}, {Path: "~/.ssh", Read: true}, {Path: "/", Where: "a denial"}},
		Net: []policy.NetRule{{Host: "10.0.0.1", Allow: true}, {Host: "a.example", Allow: true}, {Host: "10.0.0.2"}},
		Env: []policy.EnvRule{{Name: "A_TOKEN", Read: true}, {Name: "LANGUAGE_OF_IT", Read: true}},
	}
	var got []string
	for _, w := range harms(p, host) {
		got = append(got, strings.Fields(w.Message)[1])
	}
	if want := "~/.npm ~/.bashrc 10.0.0.1 A_TOKEN"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
