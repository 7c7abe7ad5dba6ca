package cmdline

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// PolicyFlags are the policy of a server whose command is given after "--".
type PolicyFlags struct {
	Workspace                                            string
	Read, Write, Execute, Deny, Net, Inbound, Env, Limit []string
	Home, Name, Preset, ID                               string
}

// Flags returns the flags, which set the fields of f.
func (f *PolicyFlags) Flags() []Flag {
	return []Flag{
		{Name: "workspace", Value: "DIR", One: &f.Workspace, Usage: "The directory that relative paths start from and that the default policy grants. Default: the working directory."},
		{Name: "preset", Value: "NAME", One: &f.Preset, Usage: "Grant what a well-known server needs, such as github: see mcp-jail preset. The flags below add to it."},
		{Name: "read", Value: "PATH", Many: &f.Read, Usage: "Grant reading a file or directory. Repeatable. What lies below your home directory is also at its place in the server's HOME. Beside a command after --, any of --read, --write, --execute and --net replaces the default policy."},
		{Name: "write", Value: "PATH", Many: &f.Write, Usage: "Grant reading and writing. Repeatable."},
		{Name: "deny", Value: "PATH", Many: &f.Deny, Usage: "Refuse everything at a path and below, whatever else is granted there. Repeatable."},
		{Name: "execute", Value: "PATH", Many: &f.Execute, Usage: "Grant reading and executing a program, or the programs in a directory. Repeatable; add --write to let the server change it."},
		{Name: "net", Value: "HOST[:PORT]", Many: &f.Net, Usage: "Grant connections to a host. Repeatable."},
		{Name: "inbound", Value: "PORT", Many: &f.Inbound, Usage: "Let programs of this machine reach a port of the server at 127.0.0.1, as the browser does after a login. Repeatable; keeps the default policy."},
		{Name: "env", Value: "NAME", Many: &f.Env, Usage: "Pass an environment variable (NAME or PREFIX*) to the server. Repeatable; keeps the default policy."},
		{Name: "limit", Value: "KEY=NUMBER", Many: &f.Limit, Usage: "Set a limit, such as memory_mb=8192, or startup_timeout_secs=120. Repeatable; keeps the default policy."},
		{Name: "home", Value: "real", One: &f.Home, Usage: "private (default): the server gets its own HOME, with links to what rules grant below yours; real: the variable HOME names yours, and grants nothing."},
		{Name: "id", Value: "ID", One: &f.ID, Usage: "The id that mcp-jail wrap has given to the server: its policy is in a file of its own."},
		{Name: "name", Value: "NAME", One: &f.Name, Usage: "What messages and mcp-jail why call the server; it decides nothing. Default: derived from the command."},
	}
}

// FirstSet returns the first flag that is set, or "": none is for a server that has its policy in a file.
func (f *PolicyFlags) FirstSet() string {
	for _, c := range f.Flags() {
		if c.One != nil && *c.One != "" || c.Many != nil && *c.Many != nil {
			return "--" + c.Name
		}
	}
	return ""
}

// Words returns the flags that are set, as words of a command line.
func (f *PolicyFlags) Words() (words []string) {
	for _, c := range f.Flags() {
		switch {
		case c.Many != nil:
			for _, value := range *c.Many {
				words = append(words, "--"+c.Name, value)
			}
		case *c.One != "":
			words = append(words, "--"+c.Name, *c.One)
		}
	}
	return words
}

// Options returns the flags as the policy of a command line.
func (f *PolicyFlags) Options(argv []string) config.CommandLineOptions {
	return config.CommandLineOptions{
		Command: argv, Workspace: f.Workspace, Read: f.Read, Write: f.Write, Execute: f.Execute, Deny: f.Deny,
		Net: f.Net, Inbound: f.Inbound, Env: f.Env, Limit: f.Limit, Home: f.Home, Name: f.Name,
	}
}

// ConfigFlags choose the configuration files and waive gaps.
type ConfigFlags struct {
	Config, Waive []string
}

// Flags returns the flags, which set the fields of f.
func (f *ConfigFlags) Flags() []Flag {
	return []Flag{
		{Name: "config", Value: "FILE", Many: &f.Config, Usage: "Read only this configuration file. Repeatable; later files override earlier ones."},
		{Name: "waive", Value: "AXIS", Many: &f.Waive, Usage: "Start even if this axis (" + strings.Join(axes(), ", ") + ") cannot be enforced, or what this system (macos, windows) never can. Repeatable; every start warns of it."},
	}
}

func axes() (names []string) {
	for _, a := range policy.Axes() {
		names = append(names, string(a))
	}
	return names
}

// Waivers returns the words that --waive and --accept-gaps take.
func Waivers() (words []string) {
	for _, a := range policy.Waivers() {
		words = append(words, string(a))
	}
	return words
}

// ParseWaivers returns the waivers that words name, one each, in their order. The error is about the value
// of a flag that names none.
func ParseWaivers(flag string, words []string) (waivers []policy.Axis, err error) {
	for _, w := range words {
		a := policy.Axis(w)
		if !slices.Contains(policy.Waivers(), a) {
			return nil, exit.UsageErrorf("%s %s: must be one of %s; each has to be named", flag, w, strings.Join(Waivers(), ", "))
		}
		waivers = append(waivers, a)
	}
	return waivers, nil
}

// RunFlags are the flags and the argument of run.
type RunFlags struct {
	ConfigFlags
	PolicyFlags
	LogLevel, LogFile string
	Server            string
}

// Flags returns the flags, which set the fields of f.
func (f *RunFlags) Flags() []Flag {
	return slices.Concat(f.ConfigFlags.Flags(), f.PolicyFlags.Flags(), []Flag{
		{Name: "log-level", Value: "LEVEL", One: &f.LogLevel, Words: []string{"trace", "debug", "info", "warn", "error", "off"}, Usage: "Write a log about mcp-jail itself: trace, debug, info, warn, error or off (default)."},
		{Name: "log-file", Value: "FILE", One: &f.LogFile, Usage: "Append the log to a file instead of standard error. The default level is then info."},
	})
}
