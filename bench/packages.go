package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// installRounds is the most rounds of ten installations, each of which fetches ten packages twice.
const installRounds = 5

// tenServers are the packages of measurePackages, without their scope.
var tenServers = []string{"brave-search", "everything", "filesystem", "github", "gitlab", "google-maps", "memory", "postgres", "sequential-thinking", "slack"}

// measurePackages times `mcp-jail install` of ten packages, beside ten installations of one package
// in a row. Each side begins in an empty home. The packages come through a registry in this process,
// which has them already.
func measurePackages(ctx context.Context, s *site) ([]row, error) {
	if _, err := exec.LookPath("npm"); s.noNode != "" || err != nil {
		return []row{{Measure: "ten packages", Note: "node or npm is not installed"}}, nil
	}
	if _, err := s.build(ctx, "cmd/mcp-jail-cli"); err != nil {
		return nil, err
	}
	r, err := newRegistry(ctx)
	if err != nil {
		return nil, err
	}
	defer r.close()
	var took pairs
	const warmUp = 1 // it fills the registry
	for i := range min(installRounds, s.runs) + warmUp {
		var of [2]float64
		for side, calls := range [][][]string{inARow(), {nil}} {
			if of[side], err = s.install(ctx, r, calls); err != nil {
				return nil, err
			}
			if i < warmUp {
				break
			}
		}
		if i >= warmUp {
			took.add(of[0], of[1])
		}
	}
	return []row{took.row("`install`, ten packages in a row, and at once", "ms", "≤ × 0.6")}, nil
}

// inARow returns the arguments of ten installations.
func inARow() (calls [][]string) {
	for _, name := range tenServers {
		calls = append(calls, []string{name})
	}
	return calls
}

// install returns the milliseconds of some calls of mcp-jail install, in a home with ten servers.
func (s *site) install(ctx context.Context, r *registry, calls [][]string) (float64, error) {
	home, err := os.MkdirTemp(s.dir, "ten-")
	if err != nil {
		return 0, err
	}
	defer func() { // the store is read-only
		filepath.WalkDir(home, func(name string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				os.Chmod(name, 0o700)
			}
			return nil
		})
		os.RemoveAll(home)
	}()
	text := "version = 1\n"
	for _, name := range tenServers {
		text += fmt.Sprintf("[servers.%s]\ncommand = \"npx\"\narguments = [\"-y\", \"@modelcontextprotocol/server-%s\"]\n", name, name)
	}
	config := filepath.Join(home, "config", "mcp-jail")
	if err := os.MkdirAll(config, 0o700); err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(config, "config.toml"), []byte(text), 0o600); err != nil {
		return 0, err
	}
	began := time.Now()
	for _, args := range calls {
		cmd := exec.CommandContext(ctx, s.jail, append([]string{"install"}, args...)...)
		cmd.Dir, cmd.Env = s.workspace, npmEnviron(home, r)
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("mcp-jail install %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return ms(time.Since(began)), nil
}
