package commands

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/kept"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// propose has a shell propose words for the value of a flag.
func propose(cmd *cobra.Command, flag string, words cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, candidates(words)); err != nil {
		panic(err) // the flag has just been added
	}
}

// candidates leaves out the proposals that the script of a shell would act on. The names may come
// from a cloned repository or from a server. Every proposal passes it: see root and propose.
func candidates(words cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) (lines []string, directive cobra.ShellCompDirective) {
		found, directive := words(cmd, args, typed)
		for _, f := range found {
			word, about, _ := strings.Cut(f, "\t")
			if line, ok := show.Candidate(word, about); ok {
				lines = append(lines, line)
			}
		}
		return lines, directive
	}
}

// described returns a proposal for a name, which may be hostile, with text about it. A name with a tab
// would be read as another one: it is no candidate.
func described(name, about string) string {
	if strings.Contains(name, "\t") {
		return ""
	}
	return name + "\t" + about
}

// proposedHere returns proposals for names under which something is kept. In the directory of a project,
// the name of its own server means that one, and the user's of that name is not proposed.
func proposedHere(host hostfs.Host, names []string) (out []string) {
	plain := map[string]string{} // the project's server of each name
	for _, name := range names {
		if project := records.ReadAbout(host, name).Project; project != "" {
			of := kept.PlainName(name, project)
			if own, _ := kept.Here(host, workDir(host), of); own == name {
				plain[of] = name
				out = append(out, described(of, project))
			}
		}
	}
	for _, name := range names {
		if plain[name] == "" && !slices.Contains(slices.Collect(maps.Values(plain)), name) {
			out = append(out, described(name, records.ReadAbout(host, name).Project))
		}
	}
	return out
}

// proposeClients proposes the names of clients.
func proposeClients(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	for _, c := range clients.All() {
		names = append(names, cobra.CompletionWithDesc(c.Name, c.Title))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// proposeEntries proposes the servers in the files that the command line selects, with the
// clients that have them.
func (w *changeCmd) proposeEntries(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	all := &changeCmd{Selection: wrapping.Selection{Clients: w.Clients, Files: slices.Clone(w.Files)}}
	_, files, err := all.find()
	if err != nil { // the command says what is wrong
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, f := range files {
		for _, e := range f.Entries {
			if name := e.Server; !slices.Contains(w.Servers, name) {
				names = addNames(names, []string{described(name, f.Client.Title)})
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// proposeSessions proposes the sessions that undo keeps, of the server on the command line if
// there is one.
func (x *front) proposeSessions(_ *cobra.Command, args []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
	host, err := hostfs.LocalHost()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	sessions, err := keptSessions(x.console, host, firstOf(args))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, s := range sessions {
		ids = append(ids, cobra.CompletionWithDesc(s.ID, s.Started.Local().Format("2 January 15:04")))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// limitNames returns the keys of a limits table, for --limit KEY=NUMBER.
func limitNames() (names []string) {
	limits := config.Describe().Keys["servers"].Names.Keys["limits"]
	for name := range limits.Keys {
		names = append(names, name+"=")
	}
	slices.Sort(names)
	return names
}
