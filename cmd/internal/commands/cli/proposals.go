package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/presets"
)

// Propose has a shell propose words for the value of a flag.
func Propose(cmd *cobra.Command, flag string, words cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, Candidates(words)); err != nil {
		panic(err) // the flag has just been added
	}
}

// Candidates leaves out the proposals that the script of a shell would act on. The names may come
// from a cloned repository or from a server. Every proposal passes it: see root and propose.
func Candidates(words cobra.CompletionFunc) cobra.CompletionFunc {
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

// Described returns a proposal for a name, which may be hostile, with text about it. A name with a tab
// would be read as another one: it is no candidate.
func Described(name, about string) string {
	if strings.Contains(name, "\t") {
		return ""
	}
	return name + "\t" + about
}

// Proposed returns a proposal without its description.
func Proposed(text string) string {
	name, _, _ := strings.Cut(text, "\t")
	return name
}

// AddNames adds names to proposals that do not have them.
func AddNames(proposals, names []string) []string {
	for _, name := range names {
		if !slices.ContainsFunc(proposals, func(p string) bool { return Proposed(p) == Proposed(name) }) {
			proposals = append(proposals, name)
		}
	}
	return proposals
}

// proposals returns what a shell may propose for the value of a flag: nil means files.
func proposals(f cmdline.Flag) cobra.CompletionFunc {
	words := func(words []string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	if f.Value == "FILE" {
		return nil
	}
	switch f.Name {
	case "read", "write", "execute", "deny":
		return nil
	case "workspace", "project":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case "waive":
		return words(cmdline.Waivers())
	case "home":
		return words([]string{"private", "real"})
	case "env":
		return words(variableNames())
	case "preset":
		return ProposePresetsFor
	case "limit":
		return cobra.FixedCompletions(limitNames(), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)
	}
	return words(f.Words)
}

func variableNames() (names []string) {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, Described(name, ""))
	}
	slices.Sort(names)
	return names
}

// ProposeServers proposes the configured servers, with their commands as descriptions, and
// files after "--".
func ProposeServers(line *CommandLine, f *cmdline.ConfigFlags) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if line.Server.Given {
			return nil, cobra.ShellCompDirectiveDefault
		}
		files, err := session.ExpandHome(f.Config)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		cfg, err := config.Load(config.LoadOptions{Files: files})
		if err != nil { // check says what is wrong
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, name := range cfg.ServerNames() {
			names = append(names, Described(name, cfg.Servers[name].Command))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// ProposePresetsFor proposes the presets, with what they are for.
func ProposePresetsFor(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	for _, name := range presets.Names() {
		if p, err := presets.Find(name); err == nil {
			names = append(names, cobra.CompletionWithDesc(name, p.Title))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func limitNames() (names []string) {
	for _, name := range config.LimitNames() {
		names = append(names, name+"=")
	}
	slices.Sort(names)
	return names
}
