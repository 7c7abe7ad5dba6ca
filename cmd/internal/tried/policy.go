// Package tried judges a session by a policy that is not in force (mcp-jail run --try). The server keeps
// what its own policy grants. What the other policy would have refused is written down, for mcp-jail why.
//
//   - [Load] reads the policy that is tried.
//   - [Begin] begins to judge a session. A [Process] of it gets what the jail observes.
package tried

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Shown returns Name, or "" for no policy.
func (p *Policy) Shown() string {
	if p == nil {
		return ""
	}
	return p.Name
}

// Digest returns a text that is another one if the policy is.
func (p *Policy) Digest() string {
	if p.Config != nil {
		return p.Config.Digest(p.Server)
	}
	return strings.Join(p.Flags.Words(), " ")
}

// Grants returns a policy with the grants for a tool; "" is the server. Flags go into the place of those of
// the command line o, and their preset goes to layPreset.
func (p *Policy) Grants(tool string, o *config.CommandLineOptions, layPreset func(name string) error) (*policy.Policy, error) {
	if p.Config != nil {
		return p.Config.Policy(p.Server, tool)
	}
	f := p.Flags
	o.Read, o.Write, o.Execute, o.Deny, o.Net, o.Inbound, o.Env = f.Read, f.Write, f.Execute, f.Deny, f.Net, f.Inbound, f.Env
	o.Preset, o.Below = "", nil
	if err := layPreset(f.Preset); err != nil {
		return nil, err
	}
	return config.FromCommandLine(*o)
}

const maxFile = 1 << 20 // bytes of a policy that is tried

// Policy is a policy that is tried. It is a table of File, or Flags.
type Policy struct {
	Name   string // as it is shown
	File   string // "" for flags
	Text   []byte // of File
	Config *config.Config
	Server string // of Config
	Flags  *cmdline.PolicyFlags
}

// Load reads the policy that the value of --try names.
func Load(given, home string) (*Policy, error) {
	if strings.HasPrefix(given, "--") {
		flags, err := parse(given)
		if err != nil {
			return nil, exit.UsageErrorf("--try: %s", show.Line(err.Error()))
		}
		return &Policy{Name: show.Quote(given), Flags: flags}, nil
	}
	file := given
	if rest, ok := hostfs.CutHome(runtime.GOOS, given); ok {
		file = filepath.Join(home, rest)
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, exit.UsageErrorf("--try: %s", err)
	}
	text, err := read(file)
	if err != nil {
		return nil, advise(err, "name a file with the table of one server, or write the flags in one word: --try '--read DIR'")
	}
	cfg, err := config.Decode(text, file)
	if err != nil {
		return nil, &exit.AdvisedError{Err: err, Fix: "correct the file of --try"}
	}
	names := cfg.ServerNames()
	if len(names) != 1 {
		err := fmt.Errorf("%s must have the table of one server, and has %d", show.Line(given), len(names))
		return nil, advise(err, "leave one table [servers.NAME] in it")
	}
	return &Policy{Name: show.Line(given), File: file, Text: text, Config: cfg, Server: names[0]}, nil
}

func advise(err error, fix string) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = fmt.Errorf("%s: %w", path.Path, path.Err)
	}
	return exit.Advise(false, fmt.Errorf("--try: %s", show.Line(err.Error())), fix)
}

// read reads a file, but no pipe, for which it would wait.
func read(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is too long for a policy", file)
	}
	return text, err
}

// parse reads flags that are in one word.
func parse(word string) (*cmdline.PolicyFlags, error) {
	words, err := split(word)
	if err != nil {
		return nil, err
	}
	run, err := cmdline.ParseRun(append([]string{"run"}, words...))
	if err != nil {
		return nil, err
	}
	for _, f := range run.Flags() {
		if set := f.One != nil && *f.One != "" || f.Many != nil && *f.Many != nil; set && !Grants("--"+f.Name) {
			return nil, fmt.Errorf("--%s cannot be tried: only flags that grant files, programs, hosts and variables can", f.Name)
		}
	}
	if run.Server != "" {
		return nil, fmt.Errorf("unexpected argument %s", run.Server)
	}
	return &run.PolicyFlags, nil
}

// Grants reports whether a flag grants something, so that it can be tried.
func Grants(flag string) bool {
	return slices.Contains([]string{"--preset", "--read", "--write", "--execute", "--deny", "--net", "--inbound", "--env"}, flag)
}

// split splits a word at its spaces. The user puts a value that has spaces in quotes.
func split(word string) (words []string, err error) {
	var text strings.Builder
	quote, begun := rune(0), false
	for _, c := range word {
		switch {
		case quote == 0 && c == ' ':
			if begun {
				words = append(words, text.String())
			}
			text.Reset()
			begun = false
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		default:
			text.WriteRune(c)
		}
		begun = true
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is not closed in %s", word)
	}
	if begun {
		words = append(words, text.String())
	}
	return words, nil
}
