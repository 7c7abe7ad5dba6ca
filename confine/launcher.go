// Package confine starts one program in a jail that is made from a policy.Profile. It
// reports which part of the profile holds, and by which mechanism.
//
// # Use
//
//	func main() {
//		confine.RunSupervisor() // first thing: see below
//		...
//		process, err := confine.Launcher{}.Start(ctx, profile, confine.Stdio{In: r, Out: w})
//		...
//		exit, err := process.Wait()
//	}
//
// [Launcher.Start] returns once the program was executed, or once it is certain that it never
// will be. The error is a [*GapError] if this host cannot hold the profile, and a
// [*StartError] if a step failed. [Launcher.Compile] tells without a start what this host can
// enforce: it returns a [Plan], which lists each [Enforcement] and each [Gap]. The zero Launcher
// accepts only the gaps that the profile waives. Fatal gaps cannot be waived. The [Process] ends
// with the program, by Kill, or when the calling program dies. All processes of the jail end
// with it.
//
// # Processes of a jail
//
// A small program without Go's runtime, the stub (package stub), builds a jail. It starts in
// new namespaces, and shares memory with the launcher. Start writes system calls into that
// memory, and the stub makes them. It has four tasks. The outer process is the launcher's child:
// it forks the init, makes the network, and executes the supervisor in the end. The init is PID 1
// of the jail: it makes the root and the rulesets, gives up every capability, forks the server's
// parent, and stays to reap. The parent forks the server, and waits for it. The server enforces Landlock and the filter, runs the self-test, and
// executes the program. [Launcher.Prepare] starts the outer process and the init ahead, while the
// caller still resolves the profile.
//
// The supervisor decides the mediated calls that make, change or remove names or open files for
// writing. It also passes signals on and samples the memory. It is the running binary, executed
// again under the name "mcp-jail: supervisor" when it is first needed, in a PID namespace around
// the jail's.
// [RunSupervisor] recognises that name and then does not return; in every other process it
// returns at once. So a program that uses a Launcher calls it before anything else, or names
// another program that does in Launcher.SupervisorPath. [CanPoll] reports in advance whether
// Go's runtime would end such a program.
//
// In a jail with host namespaces the supervisor also builds the jail, starts the server and
// reaps. There is no init. The supervisor must be built without cgo (CGO_ENABLED=0): with cgo,
// not all of its threads can be made to give up their capabilities, and Start refuses.
//
// # When the supervisor dies
//
// The kernel then kills every process of the jail: no process of a server runs on without its
// supervisor. The [Exit] is that of SIGKILL, and Exit.Why tells what ended the jail. In a jail
// with host namespaces only the server's first process is killed with the supervisor; processes
// that it detached survive, under the same Landlock rules and filter, and the plan has that as a
// [Gap].
//
// # What holds, and by what
//
//	files      a root built from nothing, with mounts for the entries of the profile
//	           only; Landlock with the same entries
//	HOME       for a tool's process: an overlay of the server's HOME, on a tmpfs
//	network    an empty network namespace with its own loopback, whose lookups and
//	           connections the gateway sees; the filter lets UNIX, TCP and UDP
//	           sockets be made
//	ipc        pid, ipc, mount and network namespaces, a new session keyring;
//	           Landlock scopes from ABI 6
//	process    no capability, no_new_privs, no set-id, no further namespace; the
//	           filter refuses a list of calls with an errno
//	programs   Landlock's right to execute, if the profile lists programs
//	env        built anew; no descriptor but 0, 1 and 2
//	limits     rlimits; a cgroup if one can be had; pid_max of the PID namespace
//	           for root; a sampler for memory
//
// The compilers of all this are pure and run on every OS. The files with _linux in their names
// carry plans out and decide nothing.
//
// # Windows
//
// On Windows a program starts in a job object, with a restricted token at low integrity.
//
//   - The job ends all its processes when its last handle is closed, so also when mcp-jail is killed.
//     It bounds how many processes there are and how much memory they commit. No process may leave it.
//   - The token has no privilege but the one that lets a program pass through directories, and the
//     group of administrators in it only serves to refuse. At low integrity the program changes only
//     files that are labelled for that, as [letWrite] labels a directory.
//   - The process inherits its three standard files and no other handle.
//
// [startInJob] makes the process suspended, and lets it run when it is in its job. If a step fails, nothing of
// the program has run, and the error names the step.
//
// Limits:
//
// Nothing here restricts which files are read, which hosts are reached, or what the user's other programs
// offer. The package has not run on Windows yet. Under Wine it starts and ends programs, and Wine enforces
// neither limits nor tokens.
//
// # Limits
//
//   - Linux on amd64 and arm64, with Landlock and seccomp. On other systems Start refuses,
//     also if every gap is waived. If user namespaces are forbidden, the plan is one with host
//     namespaces (Plan.HostNamespaces). It has a gap for each promise that only namespaces can
//     keep, on the axes fs, process and limits, and nothing starts until each gap is waived.
//   - The network is TCP to granted hosts and ports, and lookups of their names. If that
//     cannot be held and is waived, the program has the whole network of the host.
//   - [Process.Denials] holds the calls that the supervisor refused or saw refused, the
//     connections and names that the gateway refused, and the limits that were reached. It has
//     a refused open only if the filter passes that open to the supervisor. It passes every
//     open if a link in a grant leads to a sensitive path (policy.Profile.LinksAstray) or the
//     launcher asks for it ([Launcher.CertainReads]), and otherwise only opens that write or create.
//     Where the launcher asks, it also has what stat, access, readlink and chdir do not find.
//   - A file that the host replaces by a rename loses its mask. It stays unwritable.
//   - Before ABI 9, sockets in a granted directory can be connected to. Files can be reached
//     by their other hard links.
//   - Memory can exceed its limit for one interval of the sampler, from ten milliseconds to
//     a second. Processor time and disk space are not limited.
//   - A program that the profile lists may interpret others as it likes. Its arguments are
//     checked only if a command rule has args or envs.
//   - The kernel is shared: a hole in the kernel is a hole in the jail.
package confine

import (
	"context"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
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

	// UserHome is the user's home directory. What the program does not find in its private HOME and is at the same
	// place there is recorded as refused: what it makes, and what it reads with CertainReads. "" records none.
	UserHome string

	// Ports are the ports of this machine that the jails of the session have. Launchers of one session have the same.
	// nil: each jail has ports of its own.
	Ports *Ports

	// Traffic counts what the jails of the session exchange with hosts. nil counts nothing.
	Traffic *Traffic

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
	f := detect(p).WithUserNS(kernel.UserNamespaces())
	if f.UserNamespaces.Answer == kernel.Yes {
		f.HomeCopy = l.probeHomeCopy(p)
	}
	return l.compileOn(p, f)
}

func (l Launcher) watching() planpkg.Watching {
	return planpkg.Watching{Reads: l.CertainReads, Once: l.Once}
}

func (l Launcher) compileOn(p *policy.Profile, f kernel.Facts) (*Plan, error) {
	p, err := complete(p)
	if err != nil {
		return nil, err
	}
	if f.Supported && f.OS != "darwin" && f.OS != "windows" && f.FreshProc.Answer == kernel.Unknown {
		// The host could not be probed for lack of descriptors or memory. That is not a gap,
		// which could be waived: the next probe may succeed.
		return nil, &sys.Error{Step: "look around", Errno: syscall.EAGAIN, Detail: f.FreshProc.Detail}
	}
	plan := planpkg.Compile(p, f, l.watching())
	plan.Waive(slices.Concat(p.Waive, l.Waive))
	return plan, refuseGaps(plan)
}

// complete returns the profile with the defaults in place of limits that are 0. It refuses a profile
// that no policy resolves to.
func complete(p *policy.Profile) (*policy.Profile, error) {
	if p.Program == "" {
		return nil, &sys.Error{Step: sys.Spec, Detail: "the profile has no program"}
	}
	limits, err := p.Limits.OrDefault()
	if err != nil {
		return nil, &sys.Error{Step: sys.Spec, Detail: err.Error()}
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
		if err == nil || !sys.IsShortage(err) || pause >= 2*time.Second { // the pauses add up to that
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
	host.HomeCopy = knownHomeCopy(p)
	process, err := l.start(ctx, starter, p, host, stdio)
	if err != nil && isCopyRefused(p, err) { // HOME lies where the kernel makes no overlay
		host.HomeCopy = knownHomeCopy(p)
		process, err = l.start(ctx, l.spawn(false), p, host, stdio)
	}
	if err == nil {
		return process, nil
	}
	namespaces, err := refusedNamespaces(err)
	if namespaces.Answer != kernel.No {
		return nil, err
	}
	return l.start(ctx, l.spawn(true), p, host.WithUserNS(namespaces), stdio)
}

// StartPlan is Start with a plan that Compile returned. It builds the kind of jail that the plan
// is for and tries no other. The error is a *GapError if a gap of the plan is not waived.
func (l Launcher) StartPlan(ctx context.Context, p *Plan, stdio Stdio) (*Process, error) {
	if p.Spec.Program == "" {
		return nil, &sys.Error{Step: sys.Spec, Detail: "the plan has no program: Compile returns one that has"}
	}
	if err := refuseGaps(p); err != nil {
		return nil, err
	}
	if w := l.watching(); p.WatchesReads != w.Reads || p.Spec.Once != w.Once {
		return nil, &sys.Error{Step: sys.Spec, Detail: "the plan was compiled by a launcher that watches otherwise"}
	}
	return whileShort(ctx, func() (*Process, error) { return l.spawn(p.Spec.HostNS).start(ctx, p, stdio, l) })
}

// start compiles the plan for one kind of jail and carries it out by s, which has a supervisor
// process of that kind. It ends that process if the profile cannot be compiled, or if the plan
// has a gap that is not waived.
func (l Launcher) start(ctx context.Context, s *starter, p *policy.Profile, host kernel.Facts, stdio Stdio) (*Process, error) {
	plan, err := l.compileOn(p, host)
	if err != nil {
		s.cancel()
		return nil, err
	}
	return s.start(ctx, plan, stdio, l)
}

// late returns the error of a start that was not ready before the deadline of ctx.
func late(ctx context.Context) *sys.Error {
	e := &sys.Error{Step: "init", Detail: "it was not ready before the deadline"}
	if why := context.Cause(ctx); why != ctx.Err() {
		e.Detail = why.Error()
	}
	return e
}

// Prepared is a supervisor process that was started before there was a profile: it makes namespaces while the caller
// resolves one. The methods may be called on nil, and at any time.
type Prepared struct{ starter atomic.Pointer[starter] }

// Prepare starts a supervisor process for one Start: see Launcher.Prepared. It returns no error: Start says what went
// wrong.
func (l Launcher) Prepare() *Prepared {
	p := &Prepared{}
	p.starter.Store(l.spawn(false))
	return p
}

// Close ends the supervisor process, if no Start has used it.
func (p *Prepared) Close() {
	if s := p.take(); s != nil {
		s.cancel()
	}
}

func (p *Prepared) take() *starter {
	if p == nil {
		return nil
	}
	return p.starter.Swap(nil)
}

// spawnNamespaced returns the prepared supervisor process, or a new one.
func (l Launcher) spawnNamespaced() *starter {
	if s := l.Prepared.take(); s != nil {
		return s
	}
	return l.spawn(false)
}
