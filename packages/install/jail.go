package install

import (
	"context"
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

// A fetchJail is where an installer runs: it has a HOME below dir, the registries, and nothing
// else.
type fetchJail struct {
	host       hostfs.Host
	dir        string   // the stage's; HOME is below
	readable   []string // what the installer may read beside its own installation
	registries []*url.URL
	variables  map[string]string
	launcher   confine.Launcher
}

// serverName is the name of the jail's private HOME.
const serverName = "installer"

// home returns HOME of the installer.
func (j *fetchJail) home() string { return filepath.Join(j.dir, "servers", serverName, "home") }

// run runs a command in the jail until it ends. It returns the status of the command, and what
// the jail refused.
func (j *fetchJail) run(ctx context.Context, out io.Writer, network bool, argv ...string) (int, []policy.Denial, error) {
	profile, err := j.profile(network, argv)
	if err != nil {
		return 0, nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return 0, nil, err
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		io.Copy(out, read)
		read.Close()
	}()
	process, err := j.launcher.Start(ctx, profile, confine.Stdio{Out: write, Err: write})
	write.Close()
	if err != nil {
		<-copied
		return 0, nil, err
	}
	stop := context.AfterFunc(ctx, func() { process.Kill() })
	defer stop()
	exit, err := process.Wait()
	<-copied
	switch {
	case ctx.Err() != nil:
		return exit.Code, process.Denials(), ctx.Err()
	case err == nil && exit.Why != "":
		err = fmt.Errorf("the jail of the installation ended: %s", exit.Why)
	}
	return exit.Code, process.Denials(), err
}

// profile resolves the policy of the jail.
func (j *fetchJail) profile(network bool, argv []string) (*policy.Profile, error) {
	host := j.host
	host.StateDir = j.dir
	host.Environ = slices.Clone(host.Environ)
	p := &policy.Policy{
		Server: serverName, Command: argv[0], Arguments: argv[1:], Stateful: true, FromCommandLine: true,
		Roots: "off", MaxConcurrentCalls: 1, Startup: policy.DefaultStartup, Limits: policy.DefaultLimits,
		Where: "the installation of a package", Net: []policy.NetRule{},
	}
	for name, value := range j.variables {
		host.Environ = append(host.Environ, name+"="+value)
		p.Env = append(p.Env, policy.EnvRule{Name: name, Read: true, Where: p.Where})
	}
	for _, path := range j.readable {
		p.Fs = append(p.Fs, policy.FsRule{Path: path, Read: true, Where: p.Where})
	}
	if network {
		for _, u := range j.registries {
			p.Net = append(p.Net, registryRule(u))
		}
	}
	profile, _, err := resolve.Resolve(p, host)
	return profile, err
}

// registryRule is the rule that lets the installer reach a registry.
func registryRule(u *url.URL) policy.NetRule {
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	}
	host, err := policy.NormalizeHost(u.Hostname())
	if err != nil {
		host = strings.ToLower(u.Hostname())
	}
	return policy.NetRule{Host: host, Port: port, Scheme: u.Scheme, Allow: true, Where: "the registry of npm's configuration"}
}
