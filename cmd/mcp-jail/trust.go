package main

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy/config"
)

type trustCmd struct {
	Yes     bool `long:"yes" description:"Accept the file without asking, for scripts."`
	fileArg `positional-args:"yes"`
}

func (*trustCmd) Help() string {
	return `    mcp-jail trust
    mcp-jail trust ~/src/project/.mcp-jail.toml

A project's policy file has no effect until you have read and accepted it. trust
prints the file, then what it grants, and then asks. It records the path and the
SHA-256 of the content, so a changed file has to be accepted again. Scripts that
the file names are not part of it: they get what it grants even if they change.`
}

// Run reads the file once. It prints, and accepts, the same bytes.
func (t *trustCmd) Run(c console) error {
	file, err := policyFilePath(t.File)
	if err != nil {
		return err
	}
	data, err := config.ReadConfigFile(file)
	if err != nil {
		return configErrorf("%s", strings.TrimPrefix(err.Error(), "open "))
	}
	cfg, err := loadWithLayers(file, data)
	if err != nil {
		return fmt.Errorf("the file is not trusted, because it cannot be used:\n%w", err)
	}
	c.printf("%s\n", printableText(string(data)))
	for _, name := range cfg.ServerNames() {
		for _, w := range cfg.DroppedGrants(name) {
			c.printf("%s %s\n", c.paint(yellow, "warning:"), printable(w.String()))
		}
	}
	c.printf("%s", grantSummary(config.LayerGrants(data, file)))
	if c.writeErr != nil && *c.writeErr != nil {
		return fmt.Errorf("%s is not trusted, because it could not be printed completely", file)
	}
	if err := t.confirm(c, file); err != nil {
		return err
	}
	if err := (config.TrustStore{}).Trust(file, data); err != nil {
		return fmt.Errorf("%s is not trusted, because the trust store cannot be written: %w", file, err)
	}
	if filepath.Base(file) != config.ProjectFile {
		c.printf("%s in a project only the file %s is used; a file that --config names needs no trust\n", c.paint(yellow, "warning:"), config.ProjectFile)
	}
	c.printf("%s %s\nSHA-256 %x\n", c.paint(green, "trusted:"), file, sha256.Sum256(data))
	return nil
}

// confirm asks the user to accept the file.
func (t *trustCmd) confirm(c console, file string) error {
	switch {
	case t.Yes:
		return nil
	case !isTerminal(c.in) || !isTerminal(c.out):
		return usageErrorf("%s is not trusted: there is no terminal to ask on; in a script, after you have read what it grants, use mcp-jail trust --yes %s", file, shellWords([]string{file}))
	}
	fmt.Fprintf(c.err, "Trust %s? [y/N] ", printable(file))
	answer, _ := bufio.NewReader(io.LimitReader(c.in, 100)).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return fmt.Errorf("%s is not trusted: the answer was not yes", file)
}

// grantSummary says what the servers of a file start and get. It is printed last, so that
// it stays on the screen.
func grantSummary(all []config.LayerGrant) string {
	var b strings.Builder
	for _, g := range all {
		if g.Starts != nil {
			fmt.Fprintf(&b, "Server %s starts  %s  with", g.Server, printable(shellWords(g.Starts)))
		} else if g.Arguments != nil {
			fmt.Fprintf(&b, "Server %s, which is declared elsewhere, is started with the arguments  %s  and gets", g.Server, printable(shellWords(g.Arguments)))
		} else {
			fmt.Fprintf(&b, "Server %s, which is declared elsewhere, also gets", g.Server)
		}
		for _, line := range g.Gets {
			fmt.Fprintf(&b, "\n  %s", printable(line))
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

// loadWithLayers decodes a project's file together with the layers below it. A file with
// another name than policy.ProjectFile has no layers.
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
		lines[i] = printable(strings.ReplaceAll(strings.TrimSuffix(l, "\r"), "\t", "    "))
	}
	return strings.Join(lines, "\n")
}

type untrustCmd struct {
	fileArg `positional-args:"yes"`
}

func (*untrustCmd) Help() string {
	return `After that, commands that would use the file fail again. See
mcp-jail trust --help.`
}

func (u *untrustCmd) Run(c console) error {
	file, err := policyFilePath(u.File)
	if err != nil {
		return err
	}
	err = config.TrustStore{}.Untrust(file)
	if errors.Is(err, fs.ErrNotExist) {
		c.printf("%s was not trusted\n", file)
		return nil
	}
	if err == nil {
		c.printf("no longer trusted: %s\n", file)
	}
	return err
}

// policyFilePath returns the named file, or the policy file in the working directory.
func policyFilePath(file string) (string, error) {
	if file != "" {
		return absolutePath(file)
	}
	dir, err := os.Getwd()
	return filepath.Join(dir, config.ProjectFile), err
}
