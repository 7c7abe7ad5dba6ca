package grantcmd

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// flag is a flag of mcp-jail run with its value. Its name has the dashes.
type flag struct{ name, value string }

// split returns the flags that words hold.
func split(words []string) (all []flag) {
	for len(words) > 0 {
		name, value, joined := strings.Cut(words[0], "=")
		if words = words[1:]; !joined && len(words) > 0 {
			value, words = words[0], words[1:]
		}
		all = append(all, flag{name, value})
	}
	return all
}

func (f flag) words() []string {
	if strings.HasPrefix(f.value, "-") { // it would be read as the next flag
		return []string{f.name + "=" + f.value}
	}
	return []string{f.name, f.value}
}

// String returns the flag as it is typed in a shell.
func (f flag) String() string {
	if f.isPath() {
		return show.Flag(f.name, f.value)
	}
	return show.Typed(f.name, f.value)
}

func (f flag) isPath() bool {
	return slices.Contains([]string{"--read", "--write", "--execute", "--deny", "--workspace"}, f.name)
}

// table returns flags as the table of a server. A preset is not among them.
func table(flags []flag) (*config.Server, error) {
	var words []string
	for _, f := range flags {
		words = append(words, f.words()...)
	}
	r, err := cmdline.ParseRun(append([]string{"run"}, words...))
	if err != nil {
		return nil, err
	}
	f := r.PolicyFlags
	return config.CommandLineOptions{Workspace: f.Workspace, Read: f.Read, Write: f.Write, Execute: f.Execute, Deny: f.Deny, Net: f.Net,
		Inbound: f.Inbound, Env: f.Env, Limit: f.Limit, Home: f.Home}.Table()
}
