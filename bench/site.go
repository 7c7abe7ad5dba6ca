package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

const module = "github.com/mcp-jail/mcp-jail/"

// site has the programs of a run, and a directory for everything that they write.
type site struct {
	runs      int
	pause     time.Duration // before each side of a round
	dir       string
	workspace string // the working directory of every server
	jail      string // mcp-jail
	echo      string // the server in Go
	node      string
	files     string   // server-filesystem's script
	noNode    string   // why node or the script is missing
	stderr    *os.File // of all programs
	forbidden bool     // jails are made without user namespaces
}

// newSite builds and finds the programs.
func newSite(ctx context.Context, o options) (*site, error) {
	dir, err := os.MkdirTemp(scratch(), "mcp-jail-bench-")
	if err != nil {
		return nil, err
	}
	s := &site{runs: o.runs, dir: dir}
	if err := s.furnish(ctx, o.servers); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

func (s *site) furnish(ctx context.Context, servers string) (err error) {
	s.workspace = filepath.Join(s.dir, "workspace")
	if err := os.Mkdir(s.workspace, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.workspace, "hello.txt"), []byte("hello\n"), 0o644); err != nil {
		return err
	}
	if s.stderr, err = os.OpenFile(filepath.Join(s.dir, "stderr"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600); err != nil {
		return err
	}
	// The user's own configuration and private HOMEs stay out of it.
	for variable, name := range map[string]string{"XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache"} {
		if err := os.Setenv(variable, filepath.Join(s.dir, name)); err != nil {
			return err
		}
	}
	if s.jail, err = s.build(ctx, "cmd/mcp-jail"); err != nil {
		return err
	}
	if s.echo, err = s.build(ctx, "bench/echo"); err != nil {
		return err
	}
	if servers != "" {
		if s.files, err = serverIn(servers); err != nil {
			return fmt.Errorf("--servers or MCPJAIL_SERVERS: %w", err)
		}
	}
	if err := s.findNode(ctx); err != nil {
		s.noNode = err.Error()
	}
	return ctx.Err()
}

// scratch returns a directory outside of /tmp, if there is one: a jail has its own /tmp,
// and servers rarely use files in that of the host.
func scratch() string {
	if fi, err := os.Stat("/var/tmp"); err == nil && fi.IsDir() && os.Getenv("TMPDIR") == "" {
		return "/var/tmp"
	}
	return ""
}

func (s *site) remove() {
	if s.stderr != nil {
		s.stderr.Close()
	}
	os.RemoveAll(s.dir)
}

// build compiles as a release is compiled.
func (s *site) build(ctx context.Context, what string) (string, error) {
	say("building %s ...", what)
	program := filepath.Join(s.dir, filepath.Base(what))
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, module+what)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s does not build (run this inside of the checkout): %w\n%s", what, err, out)
	}
	return program, nil
}

// serverIn is server-filesystem's script below a directory.
func serverIn(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	script := filepath.Join(dir, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js")
	if _, err := os.Stat(script); err != nil {
		return "", fmt.Errorf("no server-filesystem is installed in %s", dir)
	}
	return script, nil
}

// findNode finds node, and installs server-filesystem if no option says where it is.
// Without them the other measures still run.
func (s *site) findNode(ctx context.Context) (err error) {
	if s.node, err = exec.LookPath("node"); err != nil {
		return errors.New("node is not installed")
	}
	if s.files != "" {
		return nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errors.New("npm is not installed: name a directory that holds server-filesystem with --servers")
	}
	say("installing @modelcontextprotocol/server-filesystem with npm (--servers DIR avoids it) ...")
	home := filepath.Join(s.dir, "servers")
	if err := os.Mkdir(home, 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, npm, "install", "--prefix", home, "--no-audit", "--no-fund", "--ignore-scripts", "@modelcontextprotocol/server-filesystem")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("npm could not install server-filesystem: %w", err)
	}
	s.files, err = serverIn(home)
	return err
}

// start is one way to start a server.
type start struct {
	argv []string
	env  []string // nil: that of this process
}

// jailed starts a server through mcp-jail, which selects the variables that the server
// sees.
func (s *site) jailed(argv ...string) start {
	return start{argv: append([]string{s.jail, "run", "--"}, argv...)}
}

// bare starts a server without a jail, with the environment that it has in a jail. With
// the full environment it would be slower: node takes a tenth longer to start if
// NODE_EXTRA_CA_CERTS names a file.
func (s *site) bare(argv ...string) (start, error) {
	profile, err := s.profile(argv)
	if err != nil {
		return start{}, err
	}
	env := []string{}
	for _, v := range profile.Env {
		env = append(env, v.Name+"="+v.Value)
	}
	return start{argv, env}, nil
}

// profile resolves the default policy for a command in the workspace, as mcp-jail run does.
func (s *site) profile(argv []string) (*policy.Profile, error) {
	host, err := hostfs.LocalHost()
	if err != nil {
		return nil, err
	}
	host.Dir, host.Executable = s.workspace, s.jail
	p, err := config.FromCommandLine(config.CommandLineOptions{Command: argv})
	if err != nil {
		return nil, err
	}
	profile, _, err := resolve.Resolve(p, host)
	return profile, err
}

// complaint returns the end of what the programs wrote to standard error.
func (s *site) complaint() string {
	const most = 600
	b, _ := os.ReadFile(s.stderr.Name())
	b = b[max(0, len(b)-most):]
	return strings.TrimSpace(string(b))
}
