package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// coldRounds is the most rounds of a first start, each of which fetches a package.
const coldRounds = 9

// measureNpx times `npx -y PACKAGE` up to the answer to initialize, and counts what it sends to
// the registry: bare, and as mcp-jail takes it apart. The packages come through a registry in
// this process, which asks the user's for each file once.
func measureNpx(ctx context.Context, s *site) ([]row, error) {
	npx, err := exec.LookPath("npx")
	if s.noNode != "" || err != nil {
		return []row{{Measure: "`npx -y`", Note: "node or npx is not installed"}}, nil
	}
	if _, err := s.build(ctx, "cmd/mcp-jail-cli"); err != nil { // fetches, beside mcp-jail
		return nil, err
	}
	r, err := newRegistry(ctx)
	if err != nil {
		return nil, err
	}
	defer r.close()
	var rows []row
	for _, of := range []npxServer{
		{name: "server-memory", pkg: "@modelcontextprotocol/server-memory"},
		{name: "server-filesystem", pkg: "@modelcontextprotocol/server-filesystem", args: []string{s.workspace}},
	} {
		of.site, of.registry, of.npx = s, r, npx
		more, err := of.measure(ctx)
		rows = append(rows, more...)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", of.name, err)
		}
	}
	return rows, nil
}

// npxServer is a server that clients start by npx.
type npxServer struct {
	name, pkg string
	args      []string

	site     *site
	registry *registry
	npx      string
}

func (n *npxServer) measure(ctx context.Context) ([]row, error) {
	var first, sent, later, offline pairs
	var home string
	var err error
	for i := range min(coldRounds, n.site.runs) + 1 { // the last home is that of the later starts
		home = filepath.Join(n.site.dir, fmt.Sprintf("npx-%s-%d", n.name, i))
		if i == 1 {
			first, sent = pairs{}, pairs{} // without the round that fills the registry
		}
		if err := n.both(ctx, home, &first, &sent); err != nil {
			return nil, err
		}
	}
	const warmUp = 1
	for i := range n.site.runs + warmUp {
		var took [3]float64
		for w, argv := range [][]string{n.line(), n.line("--offline"), n.jailed()} {
			if took[w], _, err = n.open(ctx, home, argv); err != nil {
				return nil, err
			}
		}
		if i >= warmUp {
			later.add(took[0], took[2])
			offline.add(took[1], took[2])
		}
	}
	name := "`initialize`, " + n.name + ", "
	bytes := sent.row(name+"the same, bytes sent", "bytes", "")
	bytes.Ratio = nil
	return []row{
		first.row(name+"`npx -y`, first start", "ms", ""),
		bytes,
		later.row(name+"`npx -y`, later starts", "ms", ""),
		offline.row(name+"`npx -y --offline`, later starts", "ms", ""),
	}, nil
}

// both starts the server in an empty home: by npx, and then in the jail in another one.
func (n *npxServer) both(ctx context.Context, home string, took, sent *pairs) error {
	bare, bareSent, err := n.open(ctx, home, n.line())
	if err != nil {
		return fmt.Errorf("npx: %w", err)
	}
	if err := os.Rename(filepath.Join(home, ".npm"), home+".npm"); err != nil { // mcp-jail would use it
		return err
	}
	jailed, jailedSent, err := n.open(ctx, home, n.jailed())
	if err != nil {
		return err
	}
	took.add(bare, jailed)
	sent.add(bareSent, jailedSent)
	if err := os.RemoveAll(filepath.Join(home, ".npm")); err != nil { // of the npm that mcp-jail asks for its configuration
		return err
	}
	return os.Rename(home+".npm", filepath.Join(home, ".npm"))
}

func (n *npxServer) line(flags ...string) []string {
	return append(append(append([]string{n.npx, "-y"}, flags...), n.pkg), n.args...)
}

func (n *npxServer) jailed() []string {
	return append([]string{n.site.jail, "run", "--"}, append([]string{"npx", "-y", n.pkg}, n.args...)...)
}

// open returns the milliseconds of a start, and the bytes that it sent to the registry.
func (n *npxServer) open(ctx context.Context, home string, argv []string) (took, sent float64, err error) {
	if err := os.MkdirAll(home, 0o755); err != nil {
		return 0, 0, err
	}
	env := npmEnviron(home, n.registry)
	before := n.registry.received.Load()
	took, err = n.site.initialize(ctx, start{argv, env})
	if ctx.Err() == nil && err == nil {
		time.Sleep(50 * time.Millisecond) // what is on its way
	}
	return took, float64(n.registry.received.Load() - before), err
}

// npmEnviron returns the environment of a user with a home and a registry.
func npmEnviron(home string, r *registry) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8", "npm_config_registry=" + r.url, "npm_config_update_notifier=false"}
	for variable, name := range map[string]string{"XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache", "XDG_DATA_HOME": "data"} {
		env = append(env, variable+"="+filepath.Join(home, name))
	}
	return env
}
