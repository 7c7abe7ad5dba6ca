package session

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// TryJail runs a program in a jail. With hosts, the policy grants these hosts alone. Without, it
// is the default policy without a workspace.
func TryJail(launcher confine.Launcher, hosts ...string) error {
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	p, err := config.FromCommandLine(config.CommandLineOptions{Command: trialCommand(), Name: "doctor", Home: "real", Net: hosts})
	if err != nil {
		return err
	}
	host.Dir = "/"
	profile, _, err := resolve.Resolve(p, host)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	t := &Target{Policy: p, Host: host}
	process, err := t.Start(ctx, profile, func(p *policy.Profile) (*confine.Process, error) { return launcher.Start(ctx, p, confine.Stdio{}) })
	if err != nil {
		return err
	}
	exit, err := process.Wait()
	if err == nil && exit != (confine.Exit{}) {
		err = errors.New("the program in the jail failed")
	}
	return err
}

// trialCommand returns the command that is tried in a jail: true, or this program where a small
// container has none.
func trialCommand() []string {
	if file, err := exec.LookPath("true"); err == nil {
		return []string{file}
	}
	self, err := os.Executable()
	if err != nil {
		return []string{"true"} // the trial says that it is missing
	}
	return []string{self, "help"}
}
