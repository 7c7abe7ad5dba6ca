package jailed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Policy says what a command may do. Each field is a flag of mcp-jail run.
type Policy struct {
	Read    []string // paths, relative to the command's Dir, absolute, or below "~/"
	Write   []string // paths, to read and write
	Execute []string // programs, or directories of programs
	Deny    []string // paths inside those above
	Net     []string // hosts: HOST or HOST:PORT
	Env     []string // names of variables, or PREFIX*
	Limit   []string // KEY=NUMBER
	Waive   []string // axes that need not hold on this host: see policy.Axes
	// Home is "real" for the user's own HOME. "" is a private one, which commands of the same
	// Name share.
	Home string
	Name string // "" is "command-" and the name of the program
}

// invocation is the command line of the process of a command. Its words are processName, the JSON
// of the invocation, and the words of the command.
type invocation struct {
	Policy Policy
	Parent int      // the process that made the command
	Home   string   // the home directory of the user of that process
	Places []string // see hostfs.Host

	command []string
}

// processName is the first word of the command line of such a process.
const processName = "mcp-jail: command"

// Command returns a command that runs a program in a jail. ctx ends it as in
// [exec.CommandContext].
func Command(ctx context.Context, p Policy, name string, args ...string) *exec.Cmd {
	call := invocation{Policy: p, Parent: os.Getpid(), Places: places(), command: append([]string{name}, args...)}
	self, err := os.Executable()
	if err == nil {
		call.Home, err = hostfs.HomeDir()
	}
	cmd := exec.CommandContext(ctx, self)
	var text []byte
	switch {
	case err != nil:
	case os.Args[0] == processName: // it would start itself without end
		err = errors.New("the program has to call jailed.Init first thing in main")
	default:
		if text, err = call.encode(); err == nil {
			_, err = config.FromCommandLine(call.options())
		}
	}
	cmd.Args = append([]string{processName, string(text)}, call.command...)
	if err != nil {
		cmd.Err = err
	}
	return cmd
}

// places returns the variables that decide which files are the user's. A command's Env, which is for
// its program, has no say in that.
func places() []string {
	set := []string{}
	for _, name := range resolve.PlaceVariables(runtime.GOOS) {
		if value, ok := os.LookupEnv(name); ok {
			set = append(set, name+"="+value)
		}
	}
	return set
}

// encode returns the JSON of an invocation. It refuses text that is not UTF-8, because JSON would
// change such a path.
func (c invocation) encode() ([]byte, error) {
	p := c.Policy
	for _, list := range [][]string{p.Read, p.Write, p.Execute, p.Deny, p.Net, p.Env, p.Limit, p.Waive, {p.Home, p.Name}, {c.Home}, c.Places} {
		for _, text := range list {
			if !utf8.ValidString(text) {
				return nil, fmt.Errorf("%q of the policy is not UTF-8", text)
			}
		}
	}
	return json.Marshal(c)
}

func (c invocation) options() config.CommandLineOptions {
	p := c.Policy
	o := config.CommandLineOptions{
		Command: c.command, Read: p.Read, Write: p.Write, Execute: p.Execute, Deny: p.Deny,
		Net: p.Net, Env: p.Env, Limit: p.Limit, Home: p.Home, Name: p.Name,
	}
	if o.Name == "" {
		o.Name = commandName(c.command[0])
	}
	for _, axis := range p.Waive {
		o.Waive = append(o.Waive, policy.Axis(axis))
	}
	return o
}

func commandName(program string) string {
	name := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && policy.ValidServerName("x"+string(r)) {
			return r
		}
		return '-'
	}, path.Base(program))
	return "command-" + name[:min(len(name), 40)]
}
