package wrapcmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// formerCommand returns the command line of an entry that starts a server of the configuration.
// The error names the copy of the file from before the first wrap, if there is one.
func formerCommand(host hostfs.Host, f *wrapping.File, line clients.Wrapped) ([]string, error) {
	argv, err := configuredCommand(host, f, line)
	if err == nil {
		return argv, nil
	}
	r, _ := f.Backup(host.StateDir)
	if original := f.Original(host.StateDir, r); original != "" {
		return nil, fmt.Errorf("%w; write its command by hand, the file as it was is %s", err, cli.ShortPath(original, host.Home))
	}
	return nil, fmt.Errorf("%w; write its command by hand", err)
}

// mayBeRelative reports whether an argument may be a path below the working directory.
func mayBeRelative(arg string) bool { return !filepath.IsAbs(arg) && !strings.HasPrefix(arg, "-") }

// configuredCommand returns the command line of a server of the configuration as a client can
// start it. The error says why a client cannot start it so, or should not.
func configuredCommand(host hostfs.Host, f *wrapping.File, line clients.Wrapped) ([]string, error) {
	if f.IsProject() {
		return nil, errors.New("others may have written the entry, since the file is a project's")
	}
	if !slices.Equal(line.Flags, []string{line.Name}) {
		return nil, errors.New("its line has flags of mcp-jail")
	}
	cfg, ignored, err := session.LoadTrusted(config.LoadOptions{}, host)
	if err != nil {
		return nil, errors.New("the configuration has an error, which `mcp-jail check` shows")
	}
	p, err := cfg.Policy(line.Name, "")
	if err != nil && ignored != nil {
		return nil, fmt.Errorf("the configuration has no such server, or an error; %s is ignored, because it is not trusted", cli.ShortPath(ignored.File, host.Home))
	}
	if err != nil {
		return nil, errors.New("the configuration has no such server, or an error: `mcp-jail check` says which")
	}
	command, isHome := strings.CutPrefix(p.Command, "~/")
	switch {
	case p.Project != "":
		return nil, errors.New("its command comes from a project's file, and would start without a jail")
	case isHome:
		command = filepath.Join(host.Home, command)
	case strings.Contains(command, "/") && !filepath.IsAbs(command):
		return nil, errors.New("its command is relative to a directory that the client does not know")
	}
	// A relative script is looked for in the directory where the client starts the server.
	script := policy.ScriptArgument(policy.InterpreterFamily(filepath.Base(command)), p.Arguments)
	isRelative := script != "" && !filepath.IsAbs(script) && (policy.InterpreterFamily(filepath.Base(command)) != "" || policy.IsShell(filepath.Base(command)))
	arguments := p.Arguments
	if line, err := runline.Parse(append([]string{command}, arguments...)); err == nil {
		arguments = line.Args // without the package
	}
	switch {
	case isRelative || p.Workspace != "" && (slices.ContainsFunc(arguments, mayBeRelative) || !slices.ContainsFunc(arguments, filepath.IsAbs)):
		return nil, errors.New("its files are relative to a workspace that the client does not know")
	case slices.ContainsFunc(p.Arguments, f.References) || f.References(command):
		return nil, errors.New("the client would replace a variable in its command line")
	}
	return append([]string{command}, p.Arguments...), nil
}
