package jailed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/homelinks"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// The exit statuses of a process whose program was not started.
const (
	exitFailed  = 1
	exitPolicy  = 2
	exitRefused = 3
)

// Init returns at once unless this process belongs to a jail: then it does the work of that
// process and never returns. Call it first thing in main.
func Init() {
	confine.RunSupervisor()
	if len(os.Args) < 3 || os.Args[0] != processName {
		return
	}
	exit, err := run(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcp-jail:", err)
		os.Exit(exitStatus(err))
	}
	exit.Die()
}

func run(text string, command []string) (confine.Exit, error) {
	call := invocation{command: command}
	if err := json.Unmarshal([]byte(text), &call); err != nil {
		return confine.Exit{}, err
	}
	orphaned, err := watchParent(call.Parent)
	if err != nil {
		return confine.Exit{}, err
	}
	launcher := confine.Launcher{}
	launcher.Prepared = launcher.Prepare() // starts while the policy is resolved
	defer launcher.Prepared.Close()
	host, err := hostfs.LocalHostOf(call.Home, call.Places)
	if err != nil {
		return confine.Exit{}, err
	}
	options := call.options()
	options.Dir = host.Dir
	p, err := config.FromCommandLine(options)
	if err != nil {
		return confine.Exit{}, err
	}
	profile, warnings, err := resolve.Resolve(p, host)
	if err != nil {
		return confine.Exit{}, err
	}
	for _, w := range warnings {
		fmt.Fprintln(os.Stderr, "mcp-jail: warning:", w.Message)
	}
	linkHome(&host, p, profile)
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn...)
	process, err := launcher.Start(context.Background(), profile, confine.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	if err != nil {
		return confine.Exit{}, err
	}
	if err := confine.Undumpable(); err != nil { // it may hold secrets of the policy
		process.Kill()
		return confine.Exit{}, err
	}
	for {
		select {
		case sig := <-signals:
			process.Signal(sig)
		case <-orphaned:
			process.Kill()
			return process.Wait()
		case <-process.Done():
			return process.Wait()
		}
	}
}

// linkHome makes what the policy grants below the home directory appear in the private HOME. A command of
// the same name that runs at the same time keeps its links.
func linkHome(host *hostfs.Host, p *policy.Policy, profile *policy.Profile) {
	if !profile.HomePrivate {
		return
	}
	told, _, err := homelinks.Home{StateDir: host.StateDir, Server: filepath.Join("servers", p.KeptName())}.Link(profile.HomeLinks)
	if err != nil {
		told = append(told, "what the policy grants below the home directory is not at its place in HOME: "+err.Error())
	}
	for _, line := range told {
		fmt.Fprintln(os.Stderr, "mcp-jail: warning:", show.Line(line))
	}
}

// passedOn are the signals that the program gets.
var passedOn = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

func exitStatus(err error) int {
	var (
		problems  policy.Problems
		conflict  *policy.ConflictError
		rule      *resolve.RuleError
		workspace *resolve.WorkspaceError
		gaps      *confine.GapError
	)
	switch {
	case errors.As(err, &problems), errors.As(err, &conflict), errors.As(err, &rule), errors.As(err, &workspace):
		return exitPolicy
	case errors.As(err, &gaps):
		return exitRefused
	}
	return exitFailed
}
