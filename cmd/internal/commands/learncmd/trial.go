package learncmd

import (
	"fmt"
	"os"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/learn"
)

// A trial is a session of the server under a policy that is tried. The policy is in a file without a name, so
// nothing is left of it, also if this process is killed.
type trial struct {
	run  []string // the arguments of mcp-jail as its client starts the server
	file *os.File
}

// inherited is the name that the file has in the session, where it is the first descriptor after stderr.
const inherited = "/proc/self/fd/3"

func newTrial(run []string) (*trial, error) {
	file, err := os.CreateTemp("", "mcp-jail-learn-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, err
	}
	return &trial{run, file}, nil
}

func (t *trial) close() { t.file.Close() }

// write puts a text into the file, in place of what is in it.
func (t *trial) write(text []byte) error {
	if err := t.file.Truncate(0); err != nil {
		return err
	}
	_, err := t.file.WriteAt(text, 0)
	return err
}

// argv returns the arguments of mcp-jail for a session under a policy. No host is reached but those that are
// named.
func (t *trial) argv(r *learn.Result, hosts ...string) ([]string, error) {
	for _, rule := range r.Rules() {
		if rule.Axis == policy.AxisNet {
			r = r.Without(rule.ID)
		}
	}
	return t.session(r.Server(), hosts)
}

// open returns the arguments of mcp-jail for a session that learns which hosts are reached: any program may
// start, and the workspace is read if the server's own policy lets it.
func (t *trial) open(r *learn.Result, workspace bool, hosts ...string) ([]string, error) {
	s := r.Server()
	tables := []*config.Access{s.Access}
	if !s.IsStateful() {
		tables = nil
		for _, tool := range s.Tools {
			tables = append(tables, tool.Access)
		}
	}
	for _, a := range tables {
		a.Net, a.Commands = nil, nil
		if workspace {
			a.Fs = append([]policy.FsRule{{Path: ".", Read: true}}, a.Fs...)
		}
	}
	return t.session(s, hosts)
}

func (t *trial) session(s *config.Server, hosts []string) ([]string, error) {
	text := (&config.Config{Servers: map[string]*config.Server{s.Name: s}}).Encode()
	if err := t.write(text); err != nil {
		return nil, fmt.Errorf("the policy cannot be written to be tried: %w", err)
	}
	learns := hosts
	if len(hosts) == 0 {
		learns = []string{cmdline.LearnPolicy}
	}
	return slices.Concat(t.run[:1], watchFlags(learns...), []string{"--access", inherited}, t.run[1:]), nil
}
