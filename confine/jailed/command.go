package jailed

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// Policy says what a command may do. Each field is a flag of mcp-jail run.
type Policy struct {
	Read    []string // paths, relative to the command's Dir, absolute, or below "~/"
	Write   []string // paths, to read and write
	Execute []string // programs, or directories of programs
	Deny    []string // paths inside of those above
	Net     []string // hosts: HOST or HOST:PORT
	Env     []string // names of variables, or PREFIX*
	Limit   []string // KEY=NUMBER
	Waive   []string // axes that need not hold on this host: see policy.Axes
	// Home is "real" for the user's own HOME. "" is a private one, which commands of the same
	// Name share.
	Home string
	Name string // "" derives one from the command
}

// invocation is what the process of a command is told.
type invocation struct {
	Policy  Policy
	Command []string
	Parent  int // the process that made the command
}

// processName is the first word of the command line of such a process.
const processName = "mcp-jail: command"

// Command returns a command that runs a program in a jail. ctx ends it as in
// [exec.CommandContext].
func Command(ctx context.Context, p Policy, name string, args ...string) *exec.Cmd {
	call := invocation{Policy: p, Command: append([]string{name}, args...), Parent: os.Getpid()}
	self, err := os.Executable()
	cmd := exec.CommandContext(ctx, self)
	if err == nil {
		_, err = config.FromCommandLine(call.options())
	}
	text, failed := json.Marshal(call)
	if err == nil {
		err = failed
	}
	cmd.Args = []string{processName, string(text)}
	if err != nil {
		cmd.Err = err
	}
	return cmd
}

// options returns the policy as the flags of mcp-jail run.
func (c invocation) options() config.CommandLineOptions {
	p := c.Policy
	o := config.CommandLineOptions{
		Command: c.Command, Read: p.Read, Write: p.Write, Execute: p.Execute, Deny: p.Deny,
		Net: p.Net, Env: p.Env, Limit: p.Limit, Home: p.Home, Name: p.Name,
	}
	for _, axis := range p.Waive {
		o.Waive = append(o.Waive, policy.Axis(axis))
	}
	return o
}
