package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Session returns the lifecycle session that begins with a target.
func (f *Followed) Session(c terminal.Console, launcher confine.Launcher) lifecycle.Session {
	t := f.target()
	launcher.UserHome = t.Host.Home
	launcher.Traffic = &f.Log.traffic
	warnings := t.WarningTexts()
	launcher.Ports = confine.NewPorts(records.PortLocks(t.Host, t.Policy.KeptName()))
	s := lifecycle.Session{
		Profile: t.Profile,
		Known: diagnostics.Evidence{
			FromCommandLine: t.Policy.FromCommandLine,
			InstallScripts:  t.Package.scriptsCommand(),
			Unfit:           t.Package.unfit(),
			Warnings:        append(slices.Clone(warnings), show.Line(t.Package.notPinned())),
			Unset:           t.Policy.Unset(t.Profile),
			StartDir:        t.Host.Dir,
			UserHome:        t.Host.Home,
			SearchPath:      os.Getenv("PATH"),
			Host:            sessionHost{host{t: t}, f, launcher.Ports},
		},
		Launcher: lifecycle.LauncherFunc(func(ctx context.Context, p *policy.Profile, stdio confine.Stdio) (lifecycle.Process, error) {
			return f.start(ctx, launcher, p, func(l confine.Launcher, p *policy.Profile) (*confine.Process, error) { return l.Start(ctx, p, stdio) })
		}),
		Earlier:  records.Reader(t.Host, t.Policy.KeptName()),
		Warnings: warningLines(t, warnings),
	}
	if c.ErrIsTerminal() { // a client's log is easier to search with whole lines
		s.Fold, s.Rows = c.FoldMessages, c.ErrRows
	}
	s.In, s.Out, s.Err = c.Raw()
	s.Changed = func() string { return f.keeping.changes(f.Log) }
	s.Switches = func() policy.Switches { return *f.tools.Load() }
	return s
}

// start starts a process of the session by launch. It keeps what the process changes, if the policy
// has undo. A jail that the session asks for records refused reads.
func (f *Followed) start(ctx context.Context, launcher confine.Launcher, p *policy.Profile, launch func(confine.Launcher, *policy.Profile) (*confine.Process, error)) (lifecycle.Process, error) {
	t := f.target()
	f.Log.hide(p.Env)
	launcher.CertainReads = launcher.CertainReads || lifecycle.CertainReads(ctx)
	launcher.BeforeExec = func(ctx context.Context) error {
		err := f.target().Package.Check(ctx)
		if err != nil {
			err = &lifecycle.DiagnosedError{Diagnosis: t.Refusal(t.Policy.Server, err), ExitStatus: terminal.Status(err)}
		}
		return err
	}
	start := func(l confine.Launcher) (*confine.Process, error) {
		started, err := f.target().Start(ctx, p, func(p *policy.Profile) (*confine.Process, error) { return launch(l, p) })
		if err == nil {
			if err = confine.Undumpable(); err != nil {
				started.Kill()
			}
		}
		return started, err
	}
	if p.Undo.On() {
		return f.keeping.Start(p, launcher, start)
	}
	started, err := start(launcher)
	if err != nil {
		return nil, err
	}
	return started, nil
}

// warningLines returns the warnings of a start; the first one also says that a line is not pinned. A grant in a
// server's file of what does not exist is none: grant has said so, and the path may come and go. A denial of what
// does not exist stays one.
func warningLines(t *Target, warnings []string) (texts []string) {
	servers := filepath.Join(t.Host.ConfigDir, config.ServersDir)
	for i, w := range warnings {
		if i < len(t.Warnings) && t.Warnings[i].Code == "missing-path" && strings.HasPrefix(t.Warnings[i].Where, servers) && strings.Contains(w, "it grants nothing") {
			continue
		}
		texts = append(texts, "warning: "+w)
	}
	if why := t.Package.notPinned(); why != "" && records.ReadAbout(t.Host, t.Policy.KeptName()).Command == nil {
		texts = append(texts, "warning: "+show.Line(why))
	}
	return texts
}

// StatelessOptions returns the options of a stateless server. Each of its calls gets a process.
func (f *Followed) StatelessOptions() lifecycle.Stateless {
	t := f.target()
	server := t.Policy.Server
	tools := &toolCache{}
	o := lifecycle.Stateless{
		Declared: func() []string { return f.target().Config.DeclaredTools(server) },
		Version:  cmdline.Version(),
		Tool: func(name string, runs bool) (lifecycle.Tool, error) {
			tool, err := tools.get(f.target(), name, runs)
			if errors.As(err, new(*ProgramError)) {
				err = &lifecycle.DiagnosedError{Diagnosis: t.Refusal(server, err), ExitStatus: terminal.Status(err)}
			}
			if err != nil {
				return lifecycle.Tool{}, err
			}
			return lifecycle.Tool{Profile: tool.Profile, Unset: tool.Policy.Unset(tool.Profile), Warnings: warningLines(tool, tool.WarningTexts())}, nil
		},
		Warm: func(name string) int {
			p, err := f.target().PolicyOf(name)
			if _, off := f.tools.Load().Off(name); err != nil || off {
				return 0
			}
			return p.Warm
		},
	}
	if t.Host.CacheDir != "" {
		o.Lists = filepath.Join(t.Host.CacheDir, "catalog")
	}
	return o
}

// A package upgrade or useradd replaces files that every jail shows. A jail that finds a
// file replaced since its profile was resolved is not built. The start then resolves the
// profile again and retries.
const (
	maxStartAttempts = 5
	startRetryPause  = 20 * time.Millisecond
)

// Start starts a jail for a profile of t. If that fails and the host has changed since the
// profile was resolved, it resolves the profile again and retries. It does not retry if a rule of
// the user now names another object.
func (t *Target) Start(ctx context.Context, p *policy.Profile, launch func(*policy.Profile) (*confine.Process, error)) (*confine.Process, error) {
	process, err := launch(p)
	for try := 1; err != nil; try++ {
		var failed *confine.StartError
		if !errors.As(err, &failed) || failed.Step == confine.StepExec || ctx.Err() != nil {
			return nil, err
		}
		now, unresolved := t.reresolve(p)
		if unresolved == nil {
			if _, other := t.takePrograms(now); other != nil {
				return nil, &lifecycle.DiagnosedError{Diagnosis: t.Refusal(t.Policy.Server, other), ExitStatus: terminal.Status(other)}
			}
		}
		switch {
		case unresolved == nil && now.Key() == p.Key():
			return nil, err // the host has not changed
		case unresolved == nil && !slices.Equal(ruleEntries(now), ruleEntries(p)):
			return nil, withAdvice(failed, "a file that a rule of the policy names was replaced during the start; start the server again to use the new file")
		case try == maxStartAttempts:
			return nil, withAdvice(failed, "files that every jail shows kept changing during the start; start the server again when the upgrade has finished")
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(startRetryPause):
		}
		if unresolved == nil {
			p = now
			process, err = launch(p)
		}
	}
	return process, nil
}

func (t *Target) reresolve(p *policy.Profile) (*policy.Profile, error) {
	of := t.Policy
	if p.Tool != of.Tool {
		var err error
		if of, err = t.PolicyOf(p.Tool); err != nil {
			return nil, err
		}
	}
	now, _, err := resolve.Resolve(of, t.Host)
	return now, err
}

func ruleEntries(p *policy.Profile) (entries []policy.Entry) {
	for _, e := range p.Entries {
		if e.Origin == policy.OriginRule {
			entries = append(entries, e)
		}
	}
	return entries
}

func withAdvice(e *confine.StartError, why string) error {
	with := *e
	if with.Errno != 0 {
		with.Detail, with.Errno = with.Detail+": "+with.Errno.Error(), 0
	}
	with.Detail += "; " + why
	return &with
}

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

// ExpandHome replaces a leading ~/ of each file, and ~\ on Windows: MCP clients start programs without a shell that
// would. The files stay relative, so that errors name them as the user typed them.
func ExpandHome(files []string) ([]string, error) {
	out := slices.Clone(files)
	for i, f := range files {
		if rest, ok := hostfs.CutHome(runtime.GOOS, f); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, err
			}
			out[i] = filepath.Join(home, rest)
		}
	}
	return out, nil
}

// AbsolutePath returns the absolute path of a file of the command line.
func AbsolutePath(file string) (string, error) {
	files, err := ExpandHome([]string{file})
	if err != nil {
		return "", err
	}
	return filepath.Abs(files[0])
}

// LogError returns the error of a start that has no log.
func LogError(err error) error {
	return terminal.Advise(false, fmt.Errorf("--log-file: %w", WithoutOperation(err)), "name a file that you can write, or leave --log-file out")
}

// CheckLog returns why mcp-jail does not write its log to a file, or nil. The log has text of the
// server and of its client in it, and the command line may be a project's. So it is not written into
// what decides what runs outside of the jail, or what it may do.
func CheckLog(file string) error {
	if !strings.HasPrefix(file, "/") {
		return nil // of Windows, where no file is protected
	}
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	place := cmp.Or(resolve.Guarded(&host, file, true), resolve.Sensitive(&host, &policy.Policy{}, file))
	if real := ResolveLinks(file); place == "" && (policy.HasProtectedName(file) || policy.HasProtectedName(real)) {
		place = file
	}
	if place == "" {
		if _, err = os.Stat(filepath.Dir(file)); err != nil {
			err = &fs.PathError{Op: "open", Path: file, Err: errors.Unwrap(err)}
		}
		return err
	}
	return fmt.Errorf("%s: programs outside the jail believe what is in %s. Name another file", file, place)
}

// WithoutOperation returns an error about a file without the word "open", which the user did not ask
// for.
func WithoutOperation(err error) error {
	if e, ok := err.(*fs.PathError); ok && e.Op == "open" {
		return fmt.Errorf("%s: %w", e.Path, e.Err)
	}
	return err
}

// AbsolutePaths returns the absolute paths of files, for code that has no working directory.
func AbsolutePaths(files []string) (out []string) {
	for _, f := range files {
		if abs, err := filepath.Abs(f); err == nil {
			out = append(out, abs)
		}
	}
	return out
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && (info.IsDir() || info.Mode().IsRegular()) && info.Mode()&0o111 != 0 && mayExecute(path)
}

// mayUse reports whether the user has rights at a path without a jail: to start it, to read it, and to
// change it, or to make it where it is missing, with the directories above it.
func mayUse(path string, rights policy.Rights) bool {
	for rights&policy.Write != 0 && !pathExists(path) && path != filepath.Dir(path) {
		path = filepath.Dir(path)
	}
	return (!rights.Has(policy.Execute) || isExecutable(path)) && (!rights.Has(policy.Read) || mayRead(path)) && (rights&policy.Write == 0 || mayWrite(path))
}

func pathExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// HasVariable reports whether a file such as .env sets a variable.
func HasVariable(host *hostfs.Host, file, name string) bool {
	text, _ := host.ReadHead(file, 1<<20)
	_, ok, _ := policy.DotenvFile(text).Value(name)
	return ok
}

// ResolveLinks resolves the symbolic links in path. The last components may be missing.
func ResolveLinks(path string) string {
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, path[len(dir):])
		}
		if dir == filepath.Dir(dir) {
			return path
		}
	}
}
