package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// A fetchJail is the jail of an installer: it has a HOME below dir, the registries and the
// readable files.
type fetchJail struct {
	host       hostfs.Host
	dir        string   // the stage's; HOME is below
	name       string   // of the jail, which is part of the path of its HOME
	path       []string // the directories of PATH
	readable   []string // files and directories of the user that the installer may read
	registries []*url.URL
	variables  map[string]string
	fileMB     int
	launcher   confine.Launcher
}

// home returns HOME of the installer.
func (j *fetchJail) home() string { return filepath.Join(j.dir, "servers", j.name, "home") }

// run runs a command in the jail until it ends, or until ctx is cancelled. It returns how the
// command ended, and what the jail refused.
func (j *fetchJail) run(ctx context.Context, out io.Writer, argv ...string) (confine.Exit, []policy.Denial, error) {
	profile, err := j.profile(argv)
	if err != nil {
		return confine.Exit{}, nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return confine.Exit{}, nil, err
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		io.Copy(out, read)
		io.Copy(io.Discard, read) // if out fails, npm must not wait for it
		read.Close()
	}()
	process, err := j.launcher.Start(ctx, profile, confine.Stdio{Out: write, Err: write})
	write.Close()
	if err != nil {
		<-copied
		return confine.Exit{}, nil, err
	}
	stop := context.AfterFunc(ctx, func() { process.Kill() })
	defer stop()
	exit, err := process.Wait()
	<-copied
	if err == nil && exit.Why != "" {
		err = errors.New("the jail of the installation ended: " + exit.Why)
	}
	return exit, process.Denials(), err
}

// profile resolves the policy of the jail.
func (j *fetchJail) profile(argv []string) (*policy.Profile, error) {
	host := j.host
	host.StateDir, host.Dir = j.dir, j.home()
	host.Environ = append(slices.Clone(host.Environ), "PATH="+strings.Join(j.path, string(filepath.ListSeparator)))
	limits := policy.DefaultLimits
	limits.FileSizeMB = j.fileMB
	p := &policy.Policy{
		Server: j.name, Command: argv[0], Arguments: argv[1:], Stateful: true, FromCommandLine: true,
		Roots: "off", MaxConcurrentCalls: 1, Startup: policy.DefaultStartup, Limits: limits,
		Where: "the installation of a package", Net: []policy.NetRule{},
	}
	for name, value := range j.variables {
		host.Environ = append(host.Environ, name+"="+value)
		p.Env = append(p.Env, policy.EnvRule{Name: name, Read: true, Where: p.Where})
	}
	for _, path := range j.readable {
		p.Fs = append(p.Fs, policy.FsRule{Path: path, Read: true, Where: p.Where})
	}
	for _, u := range j.registries {
		p.Net = append(p.Net, registryRule(u))
	}
	profile, _, err := resolve.Resolve(p, host)
	if err != nil {
		return nil, fmt.Errorf("the jail of the installation cannot be made: %w", err)
	}
	return profile, nil
}

// registryRule returns the rule that lets the installer reach a registry.
func registryRule(u *url.URL) policy.NetRule {
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	}
	host, err := policy.NormalizeHost(u.Hostname())
	if err != nil {
		host = strings.ToLower(u.Hostname())
	}
	return policy.NetRule{Host: host, Port: port, Scheme: u.Scheme, Allow: true, Where: "a registry of the user's configuration"}
}
