package main

import (
	"os"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/policy"
)

// projectFile is the policy file of a project, in its workspace.
const projectFile = ".mcp-jail.toml"

type trustCmd struct {
	File string `arg:"" optional:"" type:"path" help:"The policy file. Default: .mcp-jail.toml in the working directory."`
}

func (trustCmd) Help() string {
	return "A project's policy file is used only after you accepted it: read it first. What is recorded is its path and\n" +
		"the SHA-256 of its content, so that a changed file has to be accepted again."
}

func (t *trustCmd) Run(c console) error {
	file, err := projectPath(t.File)
	if err != nil {
		return err
	}
	host, err := policy.LocalHost()
	if err != nil {
		return err
	}
	sum, err := policy.Trust(host, file)
	if err != nil {
		return err
	}
	c.printf("trusted %s\nSHA-256 %s\n", file, sum)
	return nil
}

type untrustCmd struct {
	File string `arg:"" optional:"" type:"path" help:"The policy file. Default: .mcp-jail.toml in the working directory."`
}

func (u *untrustCmd) Run(c console) error {
	file, err := projectPath(u.File)
	if err != nil {
		return err
	}
	host, err := policy.LocalHost()
	if err != nil {
		return err
	}
	was, err := policy.Untrust(host, file)
	if err != nil {
		return err
	}
	if was {
		c.printf("no longer trusted: %s\n", file)
	} else {
		c.printf("%s was not trusted\n", file)
	}
	return nil
}

func projectPath(file string) (string, error) {
	if file != "" {
		return filepath.Abs(file)
	}
	dir, err := os.Getwd()
	return filepath.Join(dir, projectFile), err
}
