package doctorcmd

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/gaps"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// An installation is mcp-jail as a user has it: its programs, its directories, and what the user's
// clients start.
type installation struct {
	host    hostfs.Host
	clients clients.Host
	self    string // mcp-jail beside this program
	program wrapping.Program
	files   []*wrapping.File
	stored  *stored.All    // nil if that is not known
	config  *config.Config // the user's; nil if it has an error
	root    string         // for tests: directories elsewhere are not looked at

	copies []*program
	starts []*start
	login  loginPath
	tools  []tool
}

// lookInstallation finds what is to be checked. An error is about the clients' files.
func lookInstallation(ctx context.Context, host hostfs.Host) (*installation, error) {
	i := &installation{host: host, clients: entries.ClientsHost(host)}
	var err error
	if i.self, err = programs.Beside(programs.Main); err != nil {
		return i, err
	}
	// Without mcp-jail beside this program, the copies say so.
	if p, err := entries.FindProgram(host); err == nil {
		i.program = p.Program
	} else {
		i.program = wrapping.Program{Path: i.self}
	}
	if i.files, err = wrapping.Find(i.clients, wrapping.Selection{}); err != nil {
		return i, err
	}
	gaps.UseAccepted(host.StateDir, i.files)
	i.stored, _ = stored.Look(host)                                                     // what is kept is told elsewhere
	i.config, _, _ = session.LoadTrusted(config.LoadOptions{Workspace: host.Dir}, host) // checkConfiguration has the error
	i.login = askLoginShell(ctx, host)
	i.look(ctx)
	return i, nil
}

func (i *installation) look(ctx context.Context) {
	i.lookStarts()
	i.lookCopies()
	i.lookTools(ctx)
}

// check returns all findings, those that stop something first.
func (i *installation) check() (all []finding) {
	for _, check := range []func() []finding{i.checkConfiguration, i.checkStarts, i.checkCopies, i.checkTools, i.checkPath} {
		all = append(all, check()...)
	}
	return sortFindings(all)
}

func (i *installation) short(path string) string { return cli.ShortPath(path, i.host.Home) }

// isProgram reports whether a path is that of a file that can be executed.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if runtime.GOOS == "windows" { // a file has no bit for that there
		return slices.Contains([]string{".exe", ".com"}, strings.ToLower(filepath.Ext(path)))
	}
	return info.Mode()&0o111 != 0
}

// findProgram returns the first program of that name in some directories, or "".
func findProgram(dirs []string, name string) string {
	if filepath.Ext(name) == "" {
		name = programs.File(name)
	}
	for _, dir := range dirs {
		if path := filepath.Join(dir, name); isProgram(path) {
			return path
		}
	}
	return ""
}
