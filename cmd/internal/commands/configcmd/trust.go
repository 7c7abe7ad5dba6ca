package configcmd

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

type trustCmd struct {
	yes  bool
	file string
}

const policyFileHelp = "FILE is the policy file. Default: .mcp-jail.toml in the working directory."

func Trust(line *cli.CommandLine) *cobra.Command {
	t := &trustCmd{}
	cmd := line.Command("trust [flags] [FILE]", "Accept the current policy file of a project.", 1, false, func(args []string) error {
		t.file = cli.FirstOf(args)
		return t.Run(line.Console)
	})
	cmd.Long = policyFileHelp + `

A project's policy file has no effect until you have read and accepted it. trust
prints the file, then what each server that it declares may do, and what it takes
away from your own servers, and then asks. Warnings name sensitive paths, and
what of the file has no effect.

It records the path and the SHA-256 of the content, so a changed file has to be
accepted again. Scripts that the file names are not part of it: they get what it
grants even if they change.`
	cmd.Example = `    mcp-jail trust
    mcp-jail trust ~/src/project/.mcp-jail.toml`
	cmd.Flags().BoolVar(&t.yes, "yes", false, "Accept the file without asking, for scripts.")
	return cmd
}

// Run reads the file once. It prints, and accepts, the same bytes.
func (t *trustCmd) Run(c terminal.Console) error {
	file, err := policyFilePath(t.file)
	if err != nil {
		return err
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return exit.UsageErrorf("%s is a directory: name the file, %s", file, show.Typed("mcp-jail trust", filepath.Join(file, config.ProjectFile)))
	}
	data, err := config.ReadConfigFile(file)
	if err != nil {
		return exit.ConfigErrorf("%s", session.WithoutOperation(err))
	}
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	if filepath.Base(file) == config.ProjectFile {
		host.Dir = filepath.Dir(file) // where its servers start
	}
	changes, warnings, err := changesOf(file, data, host)
	if err != nil {
		return fmt.Errorf("the file is not trusted, because it cannot be used:\n%w", err)
	}
	c.Printf("%s\n", printableText(string(data)))
	for _, w := range warnings {
		c.Printf("%s %s\n", c.Paint(terminal.Yellow, "warning:"), show.Line(w.String()))
	}
	c.Printf("%s", changeSummary(changes))
	// What was not shown as a whole cannot have been read.
	if c.WriteErr != nil && *c.WriteErr != nil {
		return fmt.Errorf("%s is not trusted, because it could not be printed completely", file)
	}
	if err := t.confirm(c, file); err != nil {
		return err
	}
	if err := (config.TrustStore{}).Trust(file, data); err != nil {
		return fmt.Errorf("%s is not trusted, because the trust store cannot be written: %w", file, err)
	}
	if filepath.Base(file) != config.ProjectFile {
		c.Printf("%s in a project only the file %s is used; a file that --config names needs no trust\n", c.Paint(terminal.Yellow, "warning:"), config.ProjectFile)
	}
	c.Printf("%s %s\nSHA-256 %x\n", c.Paint(terminal.Green, "trusted:"), file, sha256.Sum256(data))
	return nil
}

func (t *trustCmd) confirm(c terminal.Console, file string) error {
	switch {
	case t.yes:
		return nil
	case !c.Asks():
		return exit.UsageErrorf("%s is not trusted: there is no terminal to ask on; in a script, after you have read what it grants, use %s", file, show.Typed("mcp-jail trust --yes", file))
	}
	yes, err := cli.AskYes(c, "Trust "+file+"?", file+" is not trusted")
	if err == nil && !yes {
		return fmt.Errorf("%s is not trusted: the answer was not yes", file)
	}
	return err
}

// changeSummary returns what the servers of a file start, get and lose. It is printed last, so that
// it stays on the screen.
func changeSummary(all []config.ServerChange) string {
	var b strings.Builder
	gains, gain := 0, 0
	for _, s := range all {
		loosened := slices.IndexFunc(append(s.Changes, config.Change{}), func(ch config.Change) bool { return !ch.Loosens }) // the others come first
		switch {
		case s.Starts == nil && s.Changes == nil:
			fmt.Fprintf(&b, "This file takes nothing away from your own server %s.", s.Server)
		case s.Starts == nil:
			fmt.Fprintf(&b, "This file takes away from your own server %s:", s.Server)
		default:
			fmt.Fprintf(&b, "Server %s starts  %s  with", s.Server, shown.Line(s.Starts))
			for _, ch := range s.Changes[:loosened] {
				fmt.Fprintf(&b, "\n  %s", show.Line(ch.Text))
			}
			if loosened == 0 {
				b.WriteString("\n  nothing")
			}
			if loosened < len(s.Changes) {
				b.WriteString("\n and these settings and restrictions:")
			}
		}
		rest := s.Changes[loosened:]
		for _, ch := range rest[:min(len(rest), maxRest)] {
			fmt.Fprintf(&b, "\n  %s", show.Line(policy.Abbreviate(ch.Text)))
		}
		if more := len(rest) - maxRest; more > 0 {
			fmt.Fprintf(&b, "\n  and %d more", more)
		}
		gains, gain = gains+loosened, gain+min(loosened, 1)
		b.WriteString("\n\n")
	}
	if all == nil {
		b.WriteString("This file declares no server, and takes nothing away from yours.\n\n")
	}
	if strings.Count(b.String(), "\n") > screenLines {
		fmt.Fprintf(&b, "This is longer than a screen. It gives %s to %s: read it from its beginning.\n\n", cli.Plural(gains, "thing"), cli.Plural(gain, "server"))
	}
	return b.String()
}

// maxRest bounds the lines of a server about what gives it no right, so that they do not push the
// others off the screen. A summary with more than screenLines says how long it is.
const (
	maxRest     = 8
	screenLines = 20
)

// fileWarnings returns the warnings about the paths of a server that it does not have without the
// file: those of sensitive paths, as check gives them, and those of what the file does not get.
func fileWarnings(before, after *config.Config, s config.ServerChange, host hostfs.Host) (ws []policy.Warning) {
	warnings := func(cfg *config.Config) (out []policy.Warning) {
		if cfg == nil || cfg.Servers[s.Server] == nil {
			return nil
		}
		for _, tool := range append([]string{"", config.AnyTool}, cfg.ToolsWithTable(s.Server)...) {
			p, err := cfg.Policy(s.Server, tool)
			if err != nil {
				continue // a stateful server has no tools
			}
			_, found, err := resolve.CheckFiles(p, host)
			if err == nil && p.Narrow != nil {
				var more []policy.Warning
				_, more, err = resolve.CheckFiles(p.Narrowed(), host)
				found = append(found, more...)
			}
			if err != nil {
				found = append(found, policy.Warning{Code: "rule", Message: "this server will not start: " + err.Error(), Where: p.Where})
			}
			out = slices.Concat(out, found, harms(p, host))
		}
		return out
	}
	had := warnings(before)
	for _, w := range warnings(after) {
		if !slices.Contains(had, w) && !slices.Contains(ws, w) {
			ws = append(ws, w)
		}
	}
	return ws
}

// harms returns a warning for each rule of a server that one is asked about, or that nothing gives unasked. CheckFiles warns of
// sensitive paths.
func harms(p *policy.Policy, host hostfs.Host) (ws []policy.Warning) {
	add := func(what, where string, h policy.Harm) {
		if h.Never != "" || h.Ask != "" && !h.Secret {
			ws = append(ws, policy.Warning{Code: "harm", Message: "careful: " + h.Say(show.Name(what)), Where: where})
		}
	}
	for _, r := range p.Fs {
		if r.Rights() != 0 && r.Path != "." {
			add(r.Path, r.Where, resolve.HarmOf(&host, p, r.Path, r.Rights()))
		}
	}
	for _, r := range p.Net {
		if r.Allow {
			add(r.Host, r.Where, resolve.HarmOfHost(&host, r))
		}
	}
	for _, r := range p.Env {
		add(r.Name, r.Where, policy.HarmOfVariable(r.Name))
	}
	return ws
}

// changesOf returns what a project's file declares and takes away, with the warnings about it. For a file with a
// name other than config.ProjectFile there are no other layers.
func changesOf(file string, data []byte, host hostfs.Host) (all []config.ServerChange, ws []policy.Warning, err error) {
	ids := []string{""}
	for at := 0; at < len(ids); at++ {
		before, after, err := loadBoth(file, data, ids[at], host)
		if err != nil {
			return nil, nil, err
		}
		changes, err := config.Changes(before, after)
		if err != nil {
			return nil, nil, err
		}
		for _, ch := range changes {
			ws = slices.Concat(ws, after.Warnings(ch.Server), fileWarnings(before, after, ch, host))
		}
		all, ids = append(all, changes...), append(ids, after.NarrowedIDs...)
	}
	return all, ws, nil
}

// loadBoth reads the configuration, or that of an id, without a project's file and with it.
func loadBoth(file string, data []byte, id string, host hostfs.Host) (before, after *config.Config, err error) {
	if filepath.Base(file) != config.ProjectFile {
		if after, err = config.Decode(data, file); err == nil {
			err = session.LayPresets(after, host)
		}
		return nil, after, err
	}
	// An empty file takes the place of the project's.
	o := config.LoadOptions{ID: id, Workspace: filepath.Dir(file), Project: []byte("version = 1\n")}
	if before, err = session.LoadConfig(o, host); err == nil {
		o.Project = data
		after, err = session.LoadConfig(o, host)
	}
	return before, after, err
}

// printableText makes control characters visible, which could hide or reorder text.
func printableText(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = show.Line(strings.ReplaceAll(strings.TrimSuffix(l, "\r"), "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

type untrustCmd struct{ file string }

func Untrust(line *cli.CommandLine) *cobra.Command {
	u := &untrustCmd{}
	cmd := line.Command("untrust [flags] [FILE]", "Withdraw the acceptance of a project's policy file.", 1, false, func(args []string) error {
		u.file = cli.FirstOf(args)
		return u.Run(line.Console)
	})
	cmd.Long = policyFileHelp + `

After that, commands that would use the file fail again. See
` + "`mcp-jail trust --help`" + `.`
	return cmd
}

func (u *untrustCmd) Run(c terminal.Console) error {
	file, err := policyFilePath(u.file)
	if err != nil {
		return err
	}
	if _, err := hostfs.LocalHost(); err != nil {
		return err
	}
	err = config.TrustStore{}.Untrust(file)
	if errors.Is(err, fs.ErrNotExist) {
		c.Printf("%s was not trusted\n", file)
		return nil
	}
	if err == nil {
		c.Printf("no longer trusted: %s\n", file)
	}
	return err
}

func policyFilePath(file string) (string, error) {
	if file != "" {
		return session.AbsolutePath(file)
	}
	dir, err := os.Getwd()
	return filepath.Join(dir, config.ProjectFile), err
}
