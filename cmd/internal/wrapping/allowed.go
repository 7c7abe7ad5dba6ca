package wrapping

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/environ"
	"github.com/mcp-jail/mcp-jail/policy"
)

// An entry of a project's file that starts in mcp-jail may have what a closed list has: flags that
// ask for rights or take them away, and variables that its server gets. What everything else does
// outside of the jail is unclear. What wrap writes is in the list.

// allowedFlags are the flags of run that such an entry may have. status and plan show what they
// grant.
var allowedFlags = []string{"workspace", "preset", "read", "write", "deny", "execute", "net", "inbound", "env", "limit", "home", "name"}

// forbiddenFlags are the other flags of run.
var forbiddenFlags = map[string]clients.Reason{
	"config":   "names a configuration of its own with --config: the project decides what its server may do",
	"waive":    "has --waive: the project accepts what this machine cannot enforce, and you have not",
	"id":       "names by --id a policy of your own servers",
	"log-file": "has --log-file: mcp-jail itself writes to the file that the project names",
}

// Reasons why it is unclear what a project's entry does.
const (
	unknownFlag  clients.Reason = "has a flag for mcp-jail that only the client knows"
	refusedFlags clients.Reason = "has flags that mcp-jail does not accept"
)

// project returns why it is unclear what a project's entry gives its server, or "".
func (j judge) project(e Entry, line clients.Wrapped) clients.Reason {
	if !j.file.IsProject() {
		return ""
	}
	if _, why := j.flags(e, line); why != "" {
		return why
	}
	if why := j.file.runsCommand(e); why != "" || line.Argv != nil {
		return why
	}
	fromFile, _, _ := e.fileNames(e.by.client, j.host)
	return judgeNames(e, fromFile)
}

// runsCommand returns why a client that reads a project's entry runs a command of the project, outside
// of the jail, to make a text of it, or "". An entry of the user's own may have a command: it reads a
// secret, as a rule.
func (f *File) runsCommand(e Entry) clients.Reason {
	if !f.IsProject() {
		return ""
	}
	texts := slices.Concat(e.Argv(), e.Headers, []string{e.Cwd, e.EnvFile, e.URL})
	for _, v := range e.Env {
		texts = append(texts, v.Name, v.Value)
	}
	for _, c := range f.clients() {
		if slices.ContainsFunc(texts, c.Runs) {
			return clients.Reason("has a command in a text, which " + c.Title + " runs itself, outside the jail")
		}
	}
	return ""
}

// flags returns the flags of a project's entry, or why they leave it unclear what its server
// may do. A client may make the value of a flag of a variable: mcp-jail refuses a value that looks
// like a flag.
func (j judge) flags(e Entry, line clients.Wrapped) (*cmdline.RunFlags, clients.Reason) {
	for i := 0; i < len(line.Flags); i++ {
		word := line.Flags[i]
		name, _, joined := strings.Cut(word, "=")
		switch {
		case slices.ContainsFunc(j.file.clients(), func(c clients.Client) bool { return replacesBefore(c, word, len(name)) }):
			// The client would choose which flag it is.
			return nil, unknownFlag
		case strings.HasPrefix(name, "--") && !joined:
			i++
		}
	}
	flags, err := cmdline.ParseRun(append([]string{"run"}, line.Flags...))
	if err != nil {
		return nil, refusedFlags
	}
	for _, flag := range flags.Flags() {
		if (flag.One != nil && *flag.One != "" || flag.Many != nil && *flag.Many != nil) && !slices.Contains(allowedFlags, flag.Name) {
			return nil, forbiddenFlags[flag.Name]
		}
	}
	return flags, ""
}

// judgeNames returns why the variables that a project's entry sets leave it unclear what a server of the user's
// configuration does, or "". It gets none from a project: the variables of a preset choose hosts for the
// user's secrets, and files.
func judgeNames(e Entry, fromFile []string) clients.Reason {
	names := slices.Clone(fromFile)
	for _, v := range e.Env {
		names = append(names, v.Name)
	}
	for _, name := range names {
		if _, known := environ.Find(name); !known || environ.Steers(name) {
			return clients.Reason("sets " + policy.Abbreviate(name) + " for a server of your configuration: the project would choose what that server does")
		}
	}
	return ""
}
