package commands

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/target"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

type trustCmd struct {
	yes  bool
	file string
}

const policyFileHelp = "FILE is the policy file. Default: .mcp-jail.toml in the working directory."

func (x *front) trust() *cobra.Command {
	t := &trustCmd{}
	cmd := x.command("trust [flags] [FILE]", "Accept the current policy file of a project.", 1, false, func(args []string) error {
		t.file = firstOf(args)
		return t.Run(x.console)
	})
	cmd.Long = policyFileHelp + `

A project's policy file has no effect until you have read and accepted it. trust
prints the file, then what it grants, and then asks. It records the path and the
SHA-256 of the content, so a changed file has to be accepted again. Scripts that
the file names are not part of it: they get what it grants even if they change.`
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
	data, err := config.ReadConfigFile(file)
	if err != nil {
		return target.ConfigErrorf("%s", strings.TrimPrefix(err.Error(), "open "))
	}
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	cfg, err := loadWithLayers(file, data)
	if err == nil {
		err = target.LayPresets(cfg, host)
	}
	if err != nil {
		return fmt.Errorf("the file is not trusted, because it cannot be used:\n%w", err)
	}
	c.Printf("%s\n", printableText(string(data)))
	for _, name := range cfg.ServerNames() {
		for _, w := range cfg.DroppedGrants(name) {
			c.Printf("%s %s\n", c.Paint(terminal.Yellow, "warning:"), show.Line(w.String()))
		}
	}
	c.Printf("%s", grantSummary(config.LayerGrants(data, file, presetsOf(cfg, host))))
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

// confirm asks the user to accept the file.
func (t *trustCmd) confirm(c terminal.Console, file string) error {
	switch {
	case t.yes:
		return nil
	case !c.Asks():
		return target.UsageErrorf("%s is not trusted: there is no terminal to ask on; in a script, after you have read what it grants, use %s", file, show.Typed("mcp-jail trust --yes", file))
	}
	if !askYes(c, "Trust "+file+"?") {
		return fmt.Errorf("%s is not trusted: the answer was not yes", file)
	}
	return nil
}

// grantSummary returns what the servers of a file start and get. It is printed last, so that it
// stays on the screen.
func grantSummary(all []config.LayerGrant) string {
	var b strings.Builder
	for _, g := range all {
		if g.Starts != nil {
			fmt.Fprintf(&b, "Server %s starts  %s  with", g.Server, show.Spelled(g.Starts))
		} else if g.Arguments != nil {
			fmt.Fprintf(&b, "Server %s, which is declared elsewhere, is started with the arguments  %s  and gets", g.Server, show.Spelled(g.Arguments))
		} else {
			fmt.Fprintf(&b, "Server %s, which is declared elsewhere, also gets", g.Server)
		}
		for _, line := range g.Gets {
			fmt.Fprintf(&b, "\n  %s", show.Line(line))
		}
		if g.Gets == nil {
			b.WriteString("\n  nothing")
		}
		b.WriteString("\n\n")
	}
	if all == nil {
		b.WriteString("the file names no server and grants nothing\n\n")
	}
	return b.String()
}

// presetsOf returns the function that returns the table of a server's preset. The arguments of
// the server may come from another layer.
func presetsOf(cfg *config.Config, host hostfs.Host) func(server string) *config.Server {
	return func(server string) *config.Server {
		f, err := target.FitPreset(cfg.Servers[server], cfg.DeclaredTools(server), host)
		if err != nil {
			return nil // LayPresets has reported it
		}
		return f.Server
	}
}

// loadWithLayers decodes a project's file together with the layers below it. A file with a name
// other than config.ProjectFile has no layers.
func loadWithLayers(file string, data []byte) (*config.Config, error) {
	if filepath.Base(file) != config.ProjectFile {
		return config.Decode(data, file)
	}
	cfg, err := config.Load(config.LoadOptions{Workspace: filepath.Dir(file), Project: data})
	return cfg, err
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

func (x *front) untrust() *cobra.Command {
	u := &untrustCmd{}
	cmd := x.command("untrust [flags] [FILE]", "Withdraw the acceptance of a project's policy file.", 1, false, func(args []string) error {
		u.file = firstOf(args)
		return u.Run(x.console)
	})
	cmd.Long = policyFileHelp + `

After that, commands that would use the file fail again. See
mcp-jail trust --help.`
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

// policyFilePath returns the named file, or the policy file in the working directory.
func policyFilePath(file string) (string, error) {
	if file != "" {
		return target.AbsolutePath(file)
	}
	dir, err := os.Getwd()
	return filepath.Join(dir, config.ProjectFile), err
}
