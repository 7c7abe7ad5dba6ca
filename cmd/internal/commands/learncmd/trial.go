package learncmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/learn"
)

// A trial is a session of the server under a policy that is tried, which is in a file.
type trial struct {
	run []string // the arguments of mcp-jail as its client starts the server
	dir string
}

func newTrial(run []string) (*trial, error) {
	dir, err := os.MkdirTemp("", "mcp-jail-learn-")
	return &trial{run, dir}, err
}

func (t *trial) close() { os.RemoveAll(t.dir) }

// argv returns the arguments of mcp-jail for a session under a policy. No host is reached but those that are
// named.
func (t *trial) argv(r *learn.Result, hosts ...string) ([]string, error) {
	for _, rule := range r.Rules() {
		if rule.Axis == policy.AxisNet {
			r = r.Without(rule.ID)
		}
	}
	s := r.Server()
	text := (&config.Config{Servers: map[string]*config.Server{s.Name: s}}).Encode()
	file := filepath.Join(t.dir, "policy.toml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, fmt.Errorf("the policy cannot be written to be tried: %w", err)
	}
	learns := hosts
	if len(hosts) == 0 {
		learns = []string{cmdline.LearnPolicy}
	}
	return slices.Concat(t.run[:1], watchFlags(learns...), []string{"--access", file}, t.run[1:]), nil
}
