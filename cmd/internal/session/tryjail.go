package session

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/packages/store"
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
	if host.Dir = "/"; host.OS == "windows" {
		host.Dir = host.Home // a path there begins with a drive
	}
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

// trialCommand returns the command that is tried in a jail: true, or this program on Windows and where a
// small container has none.
func trialCommand() []string {
	if file, err := exec.LookPath("true"); err == nil && runtime.GOOS != "windows" {
		return []string{file}
	}
	self, err := os.Executable()
	if err != nil {
		return []string{"true"} // the trial says that it is missing
	}
	return []string{self, "help"}
}

// Trial has a target start packages that the user has not accepted yet.
type Trial struct {
	Store    store.Store // of the packages
	LockFile string
	StateDir string // of the private HOME, in place of that of the user's servers
}

// Try makes t, which is not resolved yet, a trial. Its policy loses the rights that could do
// harm: it reaches no host, and writes nothing but its own HOME. The HOME of earlier
// sessions is not there. It reads what the server reads.
func (t *Target) Try(trial Trial) {
	t.trial, t.Host.StateDir = &trial, trial.StateDir
	p := t.Policy
	p.Net, p.Inbound, p.HomeReal = []policy.NetRule{}, nil, false
	p.Fs = slices.Clone(p.Fs)
	p.Fs = slices.DeleteFunc(p.Fs, func(r policy.FsRule) bool { return r.Rights() != 0 && !r.Read && !r.Execute })
	for i := range p.Fs {
		if p.Fs[i].Rights()&policy.Write != 0 {
			p.Fs[i].Where = p.Fs[i].Label() + ", to read in a trial" // it may add nothing to another rule now
		}
		p.Fs[i].Create, p.Fs[i].Update, p.Fs[i].Delete = false, false, false
	}
}
