package confine

import (
	"context"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/refused"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Launcher starts programs in jails. The zero value is the strict one: it
// starts nothing that it cannot confine as the profile says.
type Launcher struct {
	// Waive accepts the gaps of these axes, beyond those that the profile waives. The word of an
	// operating system (policy.WaiveMacOS) accepts the gaps that this system has under every policy.
	Waive []policy.Axis
	// SupervisorPath is the program to execute as the supervisor of a jail. It must call
	// RunSupervisor first thing in main. "" is the running program.
	SupervisorPath string
	// Prepared is a supervisor process that was started ahead, for the first Start. nil is none.
	Prepared *Prepared
	// Pool has jails that were built ahead. nil is none.
	Pool *PreparedPool
	// Umask is the program's file mode creation mask; nil is that of the calling program.
	// Directories that Start makes (the private HOME) get the mask of the calling program,
	// because a mask that takes rights from the owner would make them unusable.
	Umask *int

	// BeforeExec, if it is not nil, is called before the program is executed: with namespaces
	// when the jail is built, with host namespaces before the supervisor builds it. If
	// BeforeExec returns an error, the program is not executed, and Start returns that error. A
	// start that must build the jail again may call it again. It gets the context of Start,
	// and Start waits for it.
	BeforeExec func(context.Context) error

	// Say gets a line about what takes longer than a second before a start: the self-test of a Mac. nil
	// is silent.
	Say func(string)

	// Once refuses each start of a program after that of the profile's own, also of the same program. If the
	// jail has namespaces, the kernel alone decides about files: a program that makes many is then faster, and
	// refused calls are not recorded. Start refuses a profile whose rules need mediation, and a host on which
	// nothing can be refused so.
	Once bool

	// CertainReads has the jail record each open that only reads and that the policy refuses, as it
	// records refused changes, and what stat, access, readlink and chdir do not find. Every such call
	// then takes longer. A host without user notification of seccomp has a gap then (Plan.CanWatch).
	CertainReads bool

	// UserHome is the user's home directory, with CertainReads. What the program does not find in its private
	// HOME, and what is at the same place there, is recorded as a refused read of that. "" records none.
	UserHome string

	// AskHost, if it is not nil, decides about each host and port that no rule is about, when the program
	// connects to it by its name: see egress.Options. Where connections cannot be held for that, there is a gap.
	AskHost func(ctx context.Context, host string, port int) bool

	// Kept are the files in which the jail's supervisor keeps the user's files before the program
	// changes them, if the profile asks for that (policy.Undo). Each Start needs files of its own.
	// nil keeps nothing.
	Kept *Kept

	// TestHooks lets tests of this module leave out or observe a step of a start. Its type is
	// internal.
	TestHooks jail.TestHooks
}

// Kept are the journal, opened to append, and the data file of package undo. They must stay open
// until the program has ended: the supervisor may get them late.
type Kept struct {
	Journal, Data *os.File
}

// Compile returns the plan that Start would carry out. If a gap is waived neither by the profile nor by the launcher, the error is a *GapError,
// and the plan is returned too. The plan is nil if the host could not be probed for lack of
// descriptors or memory, and if the profile has no program or a limit below 0. A limit of 0 stands
// for its default (policy.DefaultLimits).
func (l Launcher) Compile(p *policy.Profile) (*Plan, error) {
	f := detect(p).WithUserNS(features.UserNamespaces())
	if f.UserNamespaces.Answer == features.Yes {
		f.HomeCopy = l.probeHomeCopy(p)
	}
	return l.compileOn(p, f)
}

func (l Launcher) watching() planpkg.Watching {
	return planpkg.Watching{Reads: l.CertainReads, Hosts: l.AskHost != nil, Once: l.Once}
}

func (l Launcher) compileOn(p *policy.Profile, f features.Facts) (*Plan, error) {
	p, err := complete(p)
	if err != nil {
		return nil, err
	}
	if f.Supported && f.OS != "darwin" && f.OS != "windows" && f.FreshProc.Answer == features.Unknown {
		// The host could not be probed for lack of descriptors or memory. That is not a gap,
		// which could be waived: the next probe may succeed.
		return nil, &step.Error{Step: "look around", Errno: syscall.EAGAIN, Detail: f.FreshProc.Detail}
	}
	plan := planpkg.Compile(p, f, l.watching())
	plan.Waive(slices.Concat(p.Waive, l.Waive))
	return plan, refuseGaps(plan)
}

// complete returns the profile with the defaults in place of limits that are 0. It refuses a profile
// that no policy resolves to.
func complete(p *policy.Profile) (*policy.Profile, error) {
	if p.Program == "" {
		return nil, &step.Error{Step: step.Spec, Detail: "the profile has no program"}
	}
	limits, err := p.Limits.OrDefault()
	if err != nil {
		return nil, &step.Error{Step: step.Spec, Detail: err.Error()}
	}
	if limits != p.Limits {
		own := *p
		own.Limits, p = limits, &own
	}
	return p, nil
}

func refuseGaps(plan *Plan) error {
	var open []Gap
	for _, g := range plan.Gaps {
		if !g.Waived {
			open = append(open, g)
		}
	}
	if open == nil {
		return nil
	}
	return &GapError{Gaps: open, HostNamespaces: plan.HostNamespaces, Waive: plan.Axes()}
}

// Start builds the jail and starts the program in it. It returns once the
// program was executed, or once it is certain that it was not: a *GapError when
// this host cannot enforce the profile, a *StartError when a step failed or the profile is one that
// Compile refuses. In
// both cases nothing of the program has run and nothing is left behind.
//
// The process ends when the program ends, by Kill, or when the calling program dies in any way.
// Cancelling ctx ends a start that is under way, not a process that runs. If the deadline of ctx
// passes, the error is a *StartError that gives the cause of ctx (context.Cause).
//
// A start that fails because the host is short of something is tried again for two seconds.
func (l Launcher) Start(ctx context.Context, p *policy.Profile, stdio Stdio) (*Process, error) {
	return whileShort(ctx, func() (*Process, error) { return l.startOnce(ctx, p, stdio) })
}

// whileShort calls start again while the host is short of memory, processes or room for filters.
func whileShort(ctx context.Context, start func() (*Process, error)) (*Process, error) {
	for pause := 64 * time.Millisecond; ; pause *= 2 {
		process, err := start()
		if err == nil || !step.IsShortage(err) || pause >= 2*time.Second { // the pauses add up to that
			return process, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

func (l Launcher) startOnce(ctx context.Context, p *policy.Profile, stdio Stdio) (*Process, error) {
	if process := l.startBuilt(ctx, p, stdio); process != nil {
		return process, nil
	}
	// A start finds out by itself whether there are namespaces and overlays, which costs
	// nothing where there are. So a plan is compiled once for each kind of jail that is tried.
	// The supervisor process starts first, while the host is asked and the plan compiled.
	starter, host := l.spawnNamespaced(), detect(p)
	host.Proof = proved(ctx, host.Proof, l.Say)
	host.HomeCopy = refused.KnownHomeCopy(p)
	process, err := l.start(ctx, starter, p, host, stdio)
	if err != nil && refused.Copy(p, err) { // HOME lies where the kernel makes no overlay
		host.HomeCopy = refused.KnownHomeCopy(p)
		process, err = l.start(ctx, l.spawn(false), p, host, stdio)
	}
	if err == nil {
		return process, nil
	}
	namespaces, err := refused.Namespaces(err)
	if namespaces.Answer != features.No {
		return nil, err
	}
	return l.start(ctx, l.spawn(true), p, host.WithUserNS(namespaces), stdio)
}

// StartPlan is Start with a plan that Compile returned. It builds the kind of jail that the plan
// is for and tries no other. The error is a *GapError if a gap of the plan is not waived.
func (l Launcher) StartPlan(ctx context.Context, p *Plan, stdio Stdio) (*Process, error) {
	if p.Spec.Program == "" {
		return nil, &step.Error{Step: step.Spec, Detail: "the plan has no program: Compile returns one that has"}
	}
	if err := refuseGaps(p); err != nil {
		return nil, err
	}
	if w := l.watching(); p.WatchesReads != w.Reads || p.AsksHosts != w.Hosts || p.Spec.Once != w.Once {
		return nil, &step.Error{Step: step.Spec, Detail: "the plan was compiled by a launcher that watches otherwise"}
	}
	return whileShort(ctx, func() (*Process, error) { return l.spawn(p.Spec.HostNS).start(ctx, p, stdio, l) })
}

// start compiles the plan for one kind of jail and carries it out by s, which has a supervisor
// process of that kind. It ends that process if the profile cannot be compiled, or if the plan
// has a gap that is not waived.
func (l Launcher) start(ctx context.Context, s *starter, p *policy.Profile, host features.Facts, stdio Stdio) (*Process, error) {
	plan, err := l.compileOn(p, host)
	if err != nil {
		s.cancel()
		return nil, err
	}
	return s.start(ctx, plan, stdio, l)
}

// late returns the error of a start that was not ready before the deadline of ctx.
func late(ctx context.Context) *step.Error {
	e := &step.Error{Step: "init", Detail: "it was not ready before the deadline"}
	if why := context.Cause(ctx); why != ctx.Err() {
		e.Detail = why.Error()
	}
	return e
}
