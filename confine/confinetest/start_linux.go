//go:build seatbelt

package confinetest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec/sandboxexectest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Main does the work of a program of a start, if this process was started as one. TestMain calls it
// first.
func Main() {
	sandboxexectest.Main()
	confine.RunSupervisor()
}

// Enclose keeps what the tests start from every other process of the machine. It returns in a process
// of a PID namespace, which has a state directory of its own until remove is called.
func Enclose() (remove func(), err error) {
	sandboxexectest.Enclose()
	dir, err := os.MkdirTemp("/var/tmp", "mcp-jail-state-")
	if err != nil {
		return nil, err
	}
	return func() { os.RemoveAll(dir) }, os.Setenv("XDG_STATE_HOME", dir)
}

// Process is a program that was started. PID is its own, not that of its supervisor.
type Process struct {
	*confine.Process
	server int
}

// PID returns the process ID of the program.
func (p *Process) PID() int { return p.server }

// Start starts this program again, with variables. The last of a name counts.
func Start(ctx context.Context, env []string, stdio confine.Stdio) (*Process, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return nil, err
	}
	p := &policy.Profile{
		Server: "test", Program: self, Argv: []string{os.Args[0]}, Dir: "/", Waive: []policy.Axis{policy.WaiveMacOS},
		Entries: []policy.Entry{{Path: self, Named: self, Rights: policy.Read | policy.Execute, Kind: policy.KindFile, Origin: policy.OriginRule, Rule: "the test's own program"}},
	}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		p.Env = slices.DeleteFunc(p.Env, func(earlier policy.Variable) bool { return earlier.Name == name })
		if name != "TMPDIR" { // which the start sets
			p.Env = append(p.Env, policy.Variable{Name: name, Value: value})
		}
	}
	process, err := confine.Launcher{}.Start(ctx, p, stdio)
	if err != nil {
		return nil, err
	}
	children := proc.Children(process.PID())
	if len(children) == 0 { // it has ended already
		return &Process{process, process.PID()}, nil
	}
	return &Process{process, children[0]}, nil
}
