package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Package is the package of a server that npx, uvx or the like starts. Its methods take a nil
// Package for that of a server which no launcher starts.
type Package struct {
	line    runline.Line
	program *installed.Program // nil: the line runs as it is given
	asGiven error              // why program is nil
	env     []string           // NAME=value that the program gets

	given []string        // the line in words
	asked string          // the arguments of mcp-jail install for it
	dir   string          // the workspace, where the launcher would run
	host  *hostfs.Host    // its lock file
	rules policy.Packages // how the server's table has packages fetched and pinned
	waive []policy.Axis
	own   bool // the line is of the user's own
}

func (p *Package) notInstalled() string {
	var gone *installed.GoneError
	if errors.As(p.asGiven, &gone) {
		return gone.Error()
	}
	return p.line.Packages[0].String() + " is not installed yet"
}

// needsInstall reports whether run must install the package first.
func (p *Package) needsInstall() bool {
	return p != nil && errors.Is(p.asGiven, installed.ErrNotInstalled)
}

func (p *Package) scriptsCommand() string {
	e := p.Entry()
	if e == nil || e.ScriptsRan || !e.HasScripts() {
		return ""
	}
	return "mcp-jail install --install-scripts " + p.asked
}

func (p *Package) unfit() string {
	if p == nil || p.program == nil {
		return ""
	}
	return p.program.Unfit
}

// Text returns a line about the package, for check and plan. It is "" for a
// server that no launcher starts.
func (p *Package) Text() string {
	switch {
	case p == nil:
		return ""
	case p.program != nil:
		e := p.program.Entry
		return fmt.Sprintf("%s %s, pinned %s in %s: %s runs it without %s", e.Name, e.Version, e.Pinned.Local().Format(time.DateOnly), LockFile(*p.host), p.program.Command, p.line.Launcher)
	case p.needsInstall():
		return p.notInstalled() + ": the first start fetches it, or mcp-jail install does"
	}
	return p.asGiven.Error() // it says that the line runs as it is given
}

// notPinned says why the line of a launcher runs as it is given, or "".
func (p *Package) notPinned() string {
	var unclear *runline.NotUnderstoodError
	if p == nil || !errors.As(p.asGiven, &unclear) {
		return ""
	}
	return unclear.Error()
}

// Entry returns the pinned package whose program is run, or nil if the command runs as it is given.
func (p *Package) Entry() *store.Entry {
	if p == nil || p.program == nil {
		return nil
	}
	return p.program.Entry
}

// Check returns an error if the files of the package are not those that were
// installed. The files are compared once. The first call waits for that, until ctx ends at the
// latest.
func (p *Package) Check(ctx context.Context) error {
	if p == nil || p.program == nil {
		return nil
	}
	err := p.program.Check(ctx)
	var changed *store.ChangedError
	if errors.As(err, &changed) {
		return &Error{Reason: changed.Error() + ". To install the pinned ones again: mcp-jail install " + p.asked + ". To accept what the registry has now: mcp-jail install --update " + p.asked}
	}
	return err
}

func (p *Package) use(in *policy.Policy) {
	if p.Entry() == nil {
		return
	}
	in.Command, in.Arguments = p.program.Command, p.program.Arguments
	if outer := p.line.Outer; len(outer) > 0 {
		in.Command, in.Arguments = outer[0], slices.Concat(outer[1:], []string{p.program.Command}, p.program.Arguments)
		in.Packages.Outer = len(outer)
	}
	in.Packages.Tree, in.Packages.Bin = p.program.Dir, p.program.Bin
	var own []policy.EnvRule
	for _, v := range p.env {
		name, _, _ := strings.Cut(v, "=")
		own = append(own, policy.EnvRule{Name: name, Read: true, Where: "the package " + p.program.Entry.Name})
	}
	in.Env = slices.Concat(in.Env, own)
	if in.Narrow != nil {
		in.Narrow.Env = slices.Concat(in.Narrow.Env, own)
	}
}

// packagePins has the pins of the tools of an installed package.
type packagePins struct {
	store.ToolPins
	arguments []string // of the server
}

// Name implements lifecycle.Pins.
func (p packagePins) Name(capabilities []byte) string { return toolpin.Name(p.arguments, capabilities) }

// Accept implements lifecycle.Pins.
func (p packagePins) Accept() string {
	return show.Typed("mcp-jail install --accept-tools", p.Entry.Spec)
}

// PinTools has the session compare the tools of the server with those that are pinned.
func (p *Package) PinTools(s *lifecycle.Session) {
	if s.Pins = p.Pins(); s.Pins != nil {
		s.EnforcePins = p.rules.PinTools == policy.PinEnforce
	}
}

// Pins returns the pins of the server's tools, or nil if they are not pinned. A server that is
// not the program of an installed package has no pins.
func (p *Package) Pins() lifecycle.Pins {
	e := p.Entry()
	if e == nil || p.rules.PinTools == policy.PinOff {
		return nil
	}
	return packagePins{
		ToolPins:  store.ToolPins{File: LockFile(*p.host), Entry: e},
		arguments: p.line.Args,
	}
}

// WaivedGaps returns a line for each gap of a plan that the user has waived, as a session says it.
func WaivedGaps(plan *confine.Plan) []string { return lifecycle.WaivedWarnings(plan) }

// InstallsAfter reports whether run installs the package of a target. err is the error of
// resolving the target, or nil. The launcher itself need not be on this machine: pip can install
// what uvx would.
func (t *Target) InstallsAfter(err error) bool {
	var missing *resolve.CommandError
	return t != nil && t.Package.needsInstall() && (err == nil || errors.As(err, &missing))
}

// Install has the companion install the package, and waits for it as long as the
// client waits for an answer. It leaves the first message of the client unread. The companion
// goes on after that, for AfterClient at most, because a client may wait for too short a time:
// `gemini mcp list` waits for 5 s. So the companion is in its own session, and holds none of
// the streams of the client. reachOf is Reach. Install returns the lines about waived gaps
// that it has printed.
func (p *Package) Install(c terminal.Console, reachOf func() (*policy.Reach, error)) (waived []string, err error) {
	companion, err := cmdline.Beside(cmdline.Companion)
	if err != nil {
		return nil, err
	}
	name := p.line.Packages[0].String()
	reach, err := reachOf()
	if err != nil {
		return nil, err
	}
	cmd := p.companion(companion)
	cmd.Stderr = c.ErrWriter()    // through a pipe
	alive, err := cmd.StdinPipe() // it brings the Reach, and its end tells that the client has left
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s cannot be started, which fetches packages: %w", companion, err)
	}
	if err := json.NewEncoder(alive).Encode(reach); err != nil && !errors.Is(err, syscall.EPIPE) { // if it has ended, it says why
		return nil, err
	}
	broken := make(chan os.Signal, 1) // a client that has closed our stderr still wants the server
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	c.Sayf("%s: fetching it once", p.notInstalled())
	messages := make(chan Message)
	go read(out, messages)
	w := newWaiter(c, name, p.asked)
	// A companion whose client has left must not wait for a reader.
	if err = w.Wait(messages); w.Left {
		out.Close()
	}
	alive.Close()
	for range messages { // a full pipe would hold up the companion
	}
	if w.Left {
		return w.Waived, err
	}
	if status := cmd.Wait(); err == nil && status != nil {
		err = &Error{Reason: "the installation of " + name + " failed: " + status.Error()}
	}
	return w.Waived, err
}

func (p *Package) companion(program string) *exec.Cmd {
	args := []string{"install", "--for-session"}
	if p.own {
		args = append(args, "--own")
	}
	for _, axis := range p.waive {
		args = append(args, "--waive", string(axis))
	}
	cmd := exec.Command(program, append(append(args, "--"), p.given...)...)
	cmd.Dir, cmd.SysProcAttr = p.dir, ownSession()
	return cmd
}

// AfterClient is how long an installation goes on at most after the client has left.
const AfterClient = 2 * time.Minute

// Decide decides about changes of what the server has, or one of its tools. It is the Decide of the session's evidence.
func (t *Target) Decide(wants ...change.Want) (all []change.Proposal) {
	for _, w := range wants {
		all = append(all, t.decide(w))
	}
	return all
}

func (t *Target) decide(w change.Want) change.Proposal {
	d := &Decider{Was: t, At: t.at, Others: t.Others, Load: func(f *config.ServerFile) (*Target, error) { return t.starts(w.Tool, f) }}
	if t.source.with != nil {
		if before, was := t.starts(w.Tool, nil); before != nil { // else nothing of it is known
			d.Was = before
			if file, err := ownFile(t); err == nil {
				return d.Try(w, file, was)
			}
		}
	}
	return d.decide(w, nil, change.ReasonsOf(w, !t.Policy.Stateful))
}

// at returns where a path of a grant leads, before links are followed. Relative ones are in the workspace.
func (t *Target) at(path string) string {
	in := t.Host
	in.Dir = cmp.Or(t.Profile.Workspace, in.Dir)
	return expand(path, in)
}

// with returns a file of the server with what words grant. before is what it has without them.
func (t *Target) with(before *Target, file *config.ServerFile, tool string, words []string) (_ *config.ServerFile, after *Target, err error) {
	g := config.Grants{Tool: tool, At: t.at}
	if g.Table, err = TableOf(words); err != nil {
		return nil, nil, err
	}
	d := &Decider{Was: before, At: t.at, Load: func(f *config.ServerFile) (*Target, error) { return t.starts(tool, f) }}
	return d.With(file, g)
}

// ownFile returns a copy of the file of the server, or a new one. That of a table is the table itself.
func ownFile(t *Target) (*config.ServerFile, error) {
	if id := t.source.options.ID; id != "" {
		file, err := config.FindServerFile(t.Host.ConfigDir, id)
		if !errors.As(err, new(*config.UnknownIDError)) {
			return file, err
		}
		name := records.ShortKey(id)
		s := &config.Server{Name: name, ID: id, Command: t.Policy.Command, Arguments: t.Policy.Arguments}
		return &config.ServerFile{Path: filepath.Join(t.Host.ConfigDir, config.ServersDir, name+".toml"), Server: s}, nil
	}
	return t.Table().Checked()
}

// Table returns the table of a configured server, with its preset, in place of a file of the server.
func (t *Target) Table() *config.ServerFile {
	table := t.Config.Servers[t.Policy.Server]
	path, _ := policy.SplitPosition(table.Where)
	return &config.ServerFile{Path: path, Server: table}
}

// isNew reports whether err is more than what was there before. What this host cannot enforce of any
// policy does not count: a running mcp-jail cannot find that out again.
func isNew(err, before error) bool {
	var gaps, known *confine.GapError
	switch {
	case err == nil || before != nil && !errors.As(before, &known):
		return false
	case !errors.As(err, &gaps):
		return true
	}
	return slices.ContainsFunc(gaps.Gaps, func(g confine.Gap) bool {
		// Without namespaces no port leads in, and a running mcp-jail does not know whether it can have them.
		if known != nil && known.HostNamespaces.Answer == confine.No && g.Axis == policy.AxisNet {
			return false
		}
		return known == nil || !slices.ContainsFunc(known.Gaps, func(k confine.Gap) bool {
			return k.Axis == g.Axis && holds(k) == holds(g) && slices.Equal(k.Paths, g.Paths)
		})
	})
}

// holds returns what a gap does not hold. Of a limit that is without the number, which a line may raise.
func holds(g confine.Gap) string {
	if g.Axis == policy.AxisLimits {
		what, _, _ := strings.Cut(g.What, " = ")
		return what
	}
	return g.What
}

// starts returns a server whose file is as given, or why it could not be resolved on this host. With both this kernel
// does not enforce it. nil is the file that is there.
func (t *Target) starts(tool string, file *config.ServerFile) (*Target, error) {
	with, err := t.source.with(tool, file)
	if err != nil {
		return nil, err
	}
	t.Package.use(with.Policy)
	if with.Profile, _, err = resolve.Resolve(with.Policy, t.Host); err != nil {
		return nil, err
	}
	_, err = (confine.Launcher{}).Compile(with.Profile)
	return with, err
}
