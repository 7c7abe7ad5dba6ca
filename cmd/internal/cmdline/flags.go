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
		{Name: "read", Value: "PATH", Many: &f.Read, Rule: true, Usage: "* Read a file or folder"},
		{Name: "write", Value: "PATH", Many: &f.Write, Rule: true, Usage: "* Read and change a file or folder"},
		{Name: "execute", Value: "PATH", Many: &f.Execute, Rule: true, Usage: "* Read and run a program, or those of a folder"},
		{Name: "deny", Value: "PATH", Many: &f.Deny, Rule: true, Usage: "* Block a path and all below, whatever else is allowed"},
		{Name: "net", Value: "HOST[:PORT]", Many: &f.Net, Rule: true, Usage: "* Connect to a host"},
		{Name: "inbound", Value: "PORT", Many: &f.Inbound, Rule: true, Usage: "* Be reached on this port, by programs of this machine"},
		{Name: "env", Value: "NAME", Many: &f.Env, Rule: true, Usage: "* Get an environment variable: NAME or PREFIX*"},
		{Name: "limit", Value: "KEY=NUMBER", Many: &f.Limit, Rule: true, Usage: "* Set a limit, such as memory_mb=8192"},
		{Name: "home", Value: "real", One: &f.Home, Rule: true, Usage: "See the name of your home folder. It allows no files"},
		{Name: "preset", Value: "NAME", One: &f.Preset, Rule: true, Usage: "What a well-known server needs: mcp-jail preset"},
		{Name: "workspace", Value: "DIR", One: &f.Workspace, Rule: true, Usage: "The project folder. Default: where the server starts"},
		{Name: "id", Value: "ID", One: &f.ID, Usage: "The server's id, which mcp-jail wrap has given to it"},
		{Name: "name", Value: "NAME", One: &f.Name, Usage: "What messages and mcp-jail why call the server"},
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
		{Name: "config", Value: "FILE", Many: &f.Config, Usage: "Read only this configuration file. Later ones win"},
		{Name: "waive", Value: "AXIS", Many: &f.Waive, Usage: "Start also in a weaker jail: mcp-jail help gap"},
	}
}

// Waivers returns the words that --waive takes.
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
	LogFile string
	Server  string
}

// Flags returns the flags, which set the fields of f.
func (f *RunFlags) Flags() []Flag {
	return slices.Concat(f.ConfigFlags.Flags(), f.PolicyFlags.Flags(), []Flag{
		{Name: "log-file", Value: "FILE", One: &f.LogFile, Usage: "Append a log about mcp-jail itself to this file"},
	})
}
