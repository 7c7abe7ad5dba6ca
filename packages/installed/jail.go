package installed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// A Jail is what a program that works for mcp-jail may touch, beside what every program may
// read: policy.md, "Runtime baseline".
type Jail struct {
	Host       hostfs.Host
	Dir        string     // HOME is below
	Name       string     // of the jail, which is part of the path of its HOME
	Purpose    string     // in messages: "the installation of a package"
	Path       []string   // the directories of PATH
	Readable   []string   // files and directories of the user
	Registries []*url.URL // the only hosts that can be reached
	// Watched records which names the program looks up, where this host can, and refuses all. It is
	// for a Jail without Registries, and nothing waives that.
	Watched   bool
	Variables map[string]string
	Limits    policy.Limits
	// Waive are the axes whose gaps the user has accepted for the server that the program is for.
	Waive []policy.Axis
	// Waived gets the plan of each jail that has a gap; may be nil.
	Waived func(*confine.Plan)
	// Once has the kernel refuse every start of a program after that of the command, also of the same program.
	// On macOS the command's own program may be started again.
	Once bool
	// MayStart are, without Once, the only programs that may be started beside the command itself. nil: any.
	MayStart []string
	// Patience is how long the program may take from its start. Then it is killed, and the error is
	// [context.DeadlineExceeded]. Zero sets no bound.
	Patience time.Duration
	// Input is what the program reads from stdin. It is on no disk.
	Input string
	// NoStderr drops what the program writes to stderr.
	NoStderr bool
}

// Home returns HOME, the working directory and the only place of the host that can be written.
func (j *Jail) Home() string { return filepath.Join(j.Dir, "servers", j.Name, "home") }

// Run runs a command in the jail until it ends, or until ctx is cancelled. It returns how the
// command ended, and what the jail refused. out gets stdout, and stderr unless NoStderr is set.
func (j *Jail) Run(ctx context.Context, out io.Writer, argv ...string) (confine.Exit, []policy.Denial, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return confine.Exit{}, nil, err
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		io.Copy(out, read)
		io.Copy(io.Discard, read) // if out fails, the program must not wait for it
		read.Close()
	}()
	stdio := confine.Stdio{Out: write, Err: write}
	if j.NoStderr {
		stdio.Err = nil
	}
	if j.Input != "" {
		stdio.In, err = inputOf(j.Input)
	}
	var process *confine.Process
	if err == nil {
		process, err = j.start(ctx, argv, stdio)
	}
	write.Close()
	stdio.In.Close() // also nil
	if err != nil {
		<-copied
		return confine.Exit{}, nil, err
	}
	if plan := process.Plan(); j.Waived != nil && len(plan.Gaps) > 0 {
		j.Waived(plan)
	}
	if j.Patience > 0 { // the making of the jail does not count: the first one of a process can take seconds
		late, ended := context.WithTimeout(ctx, j.Patience)
		defer ended()
		ctx = late
	}
	stop := context.AfterFunc(ctx, func() { process.Kill() })
	defer stop()
	exit, err := process.Wait()
	<-copied
	if err == nil && j.Patience > 0 {
		err = ctx.Err()
	}
	if err == nil && exit.Why != "" {
		err = errors.New("the jail of " + j.Purpose + " ended: " + exit.Why)
	}
	return exit, append(process.Denials(), unanswered(process)...), err
}

func (j *Jail) start(ctx context.Context, argv []string, stdio confine.Stdio) (*confine.Process, error) {
	of := *j
	if j.Watched {
		of.Registries = []*url.URL{nowhere()}
		of.Waive = slices.DeleteFunc(slices.Clone(j.Waive), func(a policy.Axis) bool { return a == policy.AxisNet })
	}
	process, err := of.launch(ctx, argv, stdio)
	var failed *hostError
	if j.Watched && errors.As(err, &failed) && slices.ContainsFunc(failed.Gaps.Gaps, func(g confine.Gap) bool { return g.Axis == policy.AxisNet }) {
		of.Registries = nil // it gets no socket at all
		process, err = of.launch(ctx, argv, stdio)
	}
	return process, err
}

// nowhere is a host whose name never resolves (RFC 6761, section 6.4). With it the jail sees which
// names a program looks up. With no host at all, the jail has nothing that could.
func nowhere() *url.URL { return &url.URL{Scheme: "https", Host: "nowhere.invalid"} }

// A package upgrade or useradd replaces files that every jail shows, several one after the other. A jail that
// finds one replaced since its profile was resolved is not built.
const (
	maxStarts  = 5
	startPause = 20 * time.Millisecond
)

// launch starts the program. If that fails and the host has changed since the profile was resolved, launch
// resolves it again and retries.
func (j *Jail) launch(ctx context.Context, argv []string, stdio confine.Stdio) (*confine.Process, error) {
	profile, err := j.profile(argv)
	if err != nil {
		return nil, err
	}
	process, err := (confine.Launcher{Once: j.Once}).Start(ctx, profile, stdio)
	var failed *confine.StartError
	for try := 1; try < maxStarts && errors.As(err, &failed) && failed.Step != confine.StepExec && ctx.Err() == nil; try++ {
		time.Sleep(startPause)
		now, unresolved := j.profile(argv)
		if unresolved != nil || now.Key() == profile.Key() {
			break // the host has not changed
		}
		profile = now
		process, err = (confine.Launcher{Once: j.Once}).Start(ctx, profile, stdio)
	}
	var gaps *confine.GapError
	if errors.As(err, &gaps) {
		err = &hostError{j.Purpose, gaps}
	}
	return process, err
}

// unanswered returns the connections to the jail's own loopback as refusals: a program that fetches
// packages has no other process in its jail.
func unanswered(process *confine.Process) (denials []policy.Denial) {
	for _, u := range process.Unanswered(time.Time{}) {
		denials = append(denials, policy.Denial{Axis: policy.AxisNet, Operation: "connect", Target: net.JoinHostPort(u.Host, strconv.Itoa(u.Port)), Reason: policy.DeniedNotGranted, Count: 1, Time: u.Last})
	}
	return denials
}

func (j *Jail) profile(argv []string) (*policy.Profile, error) {
	host := j.Host
	// So the private HOME and the workspace are in the stage.
	host.StateDir, host.Dir = j.Dir, j.Home()
	host.Environ = append(slices.DeleteFunc(slices.Clone(host.Environ), isPath), "PATH="+strings.Join(j.Path, string(filepath.ListSeparator)))
	p := &policy.Policy{
		Waive:  j.Waive,
		Server: j.Name, Command: argv[0], Arguments: argv[1:], Stateful: true, FromCommandLine: true,
		Roots: "off", Startup: policy.DefaultStartup, Limits: j.Limits,
		Where: j.Purpose, Net: []policy.NetRule{},
	}
	for name, value := range j.Variables {
		host.Environ = append(host.Environ, name+"="+value)
		p.Env = append(p.Env, policy.EnvRule{Name: name, Read: true, Where: p.Where})
	}
	for _, path := range j.Readable {
		p.Fs = append(p.Fs, policy.FsRule{Path: path, Read: true, Where: p.Where})
	}
	if j.MayStart != nil || j.Once && host.OS == "darwin" {
		p.Commands = []policy.CommandRule{}
		for _, file := range j.MayStart {
			p.Commands = append(p.Commands, policy.CommandRule{Name: file, Where: p.Where})
		}
	}
	for _, u := range j.Registries {
		p.Net = append(p.Net, registryRule(u))
	}
	profile, _, err := resolve.Resolve(p, host)
	if err != nil {
		return nil, fmt.Errorf("the jail of %s cannot be made: %w", j.Purpose, err)
	}
	return profile, nil
}

// isPath reports whether a variable is PATH, whose name is Path on Windows.
func isPath(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return strings.EqualFold(name, "PATH")
}

func registryRule(u *url.URL) policy.NetRule {
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	}
	host, err := policy.NormalizeHost(u.Hostname())
	if err != nil {
		host = strings.ToLower(u.Hostname())
	}
	return policy.NetRule{Host: host, Port: port, Scheme: u.Scheme, Allow: true, Where: "a registry of the user's configuration"}
}

// A hostError says that a program did not run, because this host cannot make its jail.
type hostError struct {
	Purpose string // of the jail
	Gaps    *confine.GapError
}

func (e *hostError) Error() string {
	why := e.Gaps.HostNamespaces.Detail
	if why != "" {
		why = "it does not allow user namespaces: " + why
	} else if len(e.Gaps.Gaps) > 0 {
		why = e.Gaps.Gaps[0].What + ": " + e.Gaps.Gaps[0].Why
	}
	if e.Gaps.Waive == nil {
		return e.Purpose + " needs a jail, which this machine cannot build (" + why + "), and does not run without one: mcp-jail doctor says what to change"
	}
	var missing []string
	for _, axis := range e.Gaps.Missing() {
		missing = append(missing, string(axis))
	}
	return e.Purpose + " needs a jail, which this machine cannot build (" + why + "), unless you accept a weaker jail for the server (waive: " + strings.Join(missing, ", ") + "). mcp-jail doctor says what that means, and how to avoid it"
}

func (e *hostError) Unwrap() error { return e.Gaps }
