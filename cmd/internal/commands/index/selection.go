package index

import (
	"errors"
	"os"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/windows"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Choice is what the flags --client, --file and --server choose. Without them it is all files
// of the user's clients, and the project files in the working directory.
type Choice struct {
	wrapping.Selection
	SwitchOn bool // entries that are switched off are as if they were not
}

// onlyThese is the text of the flags that choose.
const onlyThese = "Only this client, file or server (repeatable)"

func (s *Choice) AddFlags(cmd *cobra.Command) {
	s.AddFileFlags(cmd)
	cli.AddFlag(cmd, cmdline.Flag{Name: "server", Value: "NAME", Many: &s.Servers, Usage: onlyThese}, s.proposeEntries)
}

// AddFileFlags adds the flags that choose files, and not the one that chooses servers.
func (s *Choice) AddFileFlags(cmd *cobra.Command) {
	cli.AddFlag(cmd, cmdline.Flag{Name: "client", Value: "NAME", Many: &s.Clients, Usage: onlyThese}, proposeClients)
	cli.AddFlag(cmd, cmdline.Flag{Name: "file", Value: "FILE", Many: &s.Files, Usage: onlyThese}, nil)
}

func (s *Choice) Everything() bool {
	return len(s.Clients) == 0 && len(s.Files) == 0
}

// Find returns the selected files.
func (s *Choice) Find() (hostfs.Host, []*wrapping.File, error) {
	host, err := hostfs.LocalHost()
	if err != nil {
		return host, nil, err
	}
	for i, f := range s.Files {
		if s.Files[i], err = session.AbsolutePath(f); err != nil {
			return host, nil, err
		}
	}
	s.Windows = windows.Hosts("/")
	files, err := wrapping.Find(ClientsHost(host), s.Selection)
	var unknown *clients.UnknownError
	var missing *wrapping.NotFoundError
	var noFile *wrapping.MissingFileError
	// The flags are wrong, not a file.
	if errors.As(err, &unknown) || errors.As(err, &missing) || errors.As(err, &noFile) {
		err = exit.UsageErrorf("%s", err)
	}
	return host, files, err
}

// ClientsHost returns the host as package clients knows it.
func ClientsHost(host hostfs.Host) clients.Host {
	above, repo := wrapping.Above(host.Dir)
	return clients.Host{OS: runtime.GOOS, Home: host.Home, Project: host.Dir, Above: above, Repo: repo, Env: os.Getenv}
}

func (s *Choice) proposeEntries(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	all := &Choice{Selection: wrapping.Selection{Clients: s.Clients, Files: slices.Clone(s.Files)}}
	_, files, err := all.Find()
	if err != nil { // the command says what is wrong
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, f := range files {
		for _, e := range f.Entries {
			if name := e.Server; !slices.Contains(s.Servers, name) {
				names = cli.AddNames(names, []string{cli.Described(name, f.Client.Title)})
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func proposeClients(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	for _, c := range clients.All() {
		names = append(names, cobra.CompletionWithDesc(c.Name, c.Title))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
