package confine

import (
	"context"
	"slices"
	"syscall"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Launcher starts programs in jails. The zero value is the strict one: it
// starts nothing that it cannot confine as the profile says.
type Launcher struct {
	// Waive accepts the gaps of these axes, beyond those that the profile waives.
	Waive []policy.Axis
	// Shim is the program to execute as the supervisor of a jail, or as the init of one
	// without namespaces; it must call ShimMain first thing in main. "" is the running
	// program itself.
	Shim string
	// Ready is a shim that Prepare started ahead. The first Start that it fits
	// uses it; a later one starts its own. nil is none.
	Ready *Shim
	// Umask is the program's file mode creation mask; nil is that of the calling
	// program. Start makes directories too (the private HOME), with the calling
	// program's: one that takes rights from the owner would keep them from being used.
	// Who has another for that reason passes on here what it was started with.
	Umask *int

	testHooks testHooks // by tests: nothing else leaves a step out
}

// Plan is a profile compiled for one kernel: what will hold, by which mechanism,
// and what will not.
type Plan struct {
	Profile  *policy.Profile
	Enforced []Enforcement
	Gaps     []Gap
	Notes    []string // remarks that are neither: what the server sees differently
	// Bare says, with the answer No, that this jail has no namespaces, and why.
	Bare Feature

	order       order
	terminating terminating
	place       cgroupPlace // where its cgroup is; none where the plan does not count on one
}

// Compile says what Start would do. When a gap is neither waived by the profile
// nor by the launcher, the error is a *GapError, and the plan is returned too. There is
// none when the host could not be asked for want of descriptors or memory.
func (l Launcher) Compile(p *policy.Profile) (*Plan, error) {
	f := hostFacts().with(namespaces())
	if f.UserNamespaces.Answer == Yes {
		f.Copies = l.askCopies(p)
	}
	findTerminator(&f, p)
	return l.compileOn(p, f)
}

func (l Launcher) compileOn(p *policy.Profile, f facts) (*Plan, error) {
	if f.Supported && f.FreshProc.Answer == Unknown {
		// Nothing was learnt of the host, for want of descriptors or memory. That is no
		// gap, which could have been waived: the next moment they may be there.
		return nil, &StartError{Step: "look around", Errno: syscall.EAGAIN, Detail: f.FreshProc.Detail}
	}
	plan := compile(p, f)
	var open []Gap
	for i := range plan.Gaps {
		g := &plan.Gaps[i]
		g.Waived = !g.Fatal && (slices.Contains(p.Waive, g.Axis) || slices.Contains(l.Waive, g.Axis))
		if !g.Waived {
			open = append(open, *g)
		}
	}
	if open != nil {
		return plan, &GapError{Gaps: open, Bare: plan.Bare, Waive: plan.axes()}
	}
	return plan, nil
}

// axes are those that the gaps lie on; nil where one cannot be waived.
func (plan *Plan) axes() (axes []policy.Axis) {
	for _, a := range policy.Axes() {
		for _, g := range plan.Gaps {
			if g.Fatal {
				return nil
			}
			if g.Axis == a && !slices.Contains(axes, a) {
				axes = append(axes, a)
			}
		}
	}
	return axes
}

// Start builds the jail and starts the program in it. It returns once the
// program was executed, or once it is certain that it was not: a *GapError when
// this host cannot enforce the profile, a *StartError when a step failed. In
// both cases nothing of the program has run and nothing is left behind.
//
// The process ends when it ends itself, by Kill, or when the calling program
// dies, however that dies. Cancelling ctx ends a start that is under way, not a
// process that runs. When its deadline passes the error is a *StartError
// that gives its cause.
func (l Launcher) Start(ctx context.Context, p *policy.Profile, stdio Stdio) (*Process, error) {
	// The shim starts while the plan is compiled; without a plan it is sent away.
	// Whether there are namespaces is not asked: the start itself finds out.
	// The same goes for copies.
	shim, f := l.shimFor(), hostFacts()
	f.Copies = knownCopies(p)
	findTerminator(&f, p)
	process, err := l.start(ctx, shim, p, f, stdio)
	if refused := refusedCopies(p, err); refused.Answer == No {
		f.Copies = refused
		process, err = l.start(ctx, l.shimFor(), p, f, stdio)
	}
	if err == nil {
		return process, nil
	}
	refused, err := refusal(err)
	if refused.Answer != No {
		return nil, err
	}
	return l.start(ctx, l.spawnBare(), p, f.with(refused), stdio)
}

func (l Launcher) start(ctx context.Context, shim *Shim, p *policy.Profile, f facts, stdio Stdio) (*Process, error) {
	plan, err := l.compileOn(p, f)
	if err != nil {
		shim.abandon()
		return nil, err
	}
	return shim.start(ctx, plan, stdio)
}
