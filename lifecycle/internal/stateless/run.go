package stateless

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/answers"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// defaultMaxCalls is how many calls of a session run at once.
const defaultMaxCalls = 8

// Options holds what a session needs beyond its Session if each call has a process of
// its own. Only Tool is required.
type Options struct {
	// Tool resolves the policy of a tool on the host as it is now; "" is the discovery
	// worker. It is called for each process, by several goroutines. With runs it is for a process that was started
	// before: what only a start looks at, such as the program, may be as it was then.
	Tool func(name string, runs bool) (Tool, error)
	// Declared returns the tools that the configuration names. nil means none.
	Declared func() []string
	// Warm returns how many warm workers of a tool to keep ready. nil means none.
	Warm func(tool string) int
	// Prepare has a jail prepared for each of these profiles, of which several may be equal, and for no other.
	// nil means that none can be.
	Prepare func([]*policy.Profile)
	// MaxCalls is how many calls run at once; 0 means defaultMaxCalls. As many warm workers wait, and as many
	// workers end, so it bounds the processes of a session.
	MaxCalls int
	// Lists is the directory that keeps the server's lists between sessions. With "" the session keeps
	// them for itself.
	Lists string
	// Version is the version of mcp-jail. Lists that another version has kept are not used.
	Version string
}

// Tool is the policy of the processes of one tool.
type Tool struct {
	Profile  *policy.Profile
	Warnings []string
	Unset    []string // variables that are granted and not set: see diagnostics.Evidence
}

// Run is lifecycle.RunStateless.
func Run(ctx context.Context, s session.Session, o Options) confine.Exit {
	return newStatelessSession(s, o).run(ctx)
}

func (s *statelessSession) run(ctx context.Context) confine.Exit {
	ends, caught, stop := streams.ListenForSignals()
	s.signalsCaught = caught
	defer stop()
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.working = working
	defer s.client.Finish(ctx, ends, func() {})
	defer cancel()
	s.client.StartReading(func() error { return s.dispatcher.readClient(working) })
	s.client.Tasks.Go(func() { s.background(working) })
	return s.wait(ctx, ends)
}

// statelessSession is a running session of a stateless server. Each of its parts has its own data
// and its own lock.
//
// Locks. A goroutine that holds a lock takes only one that is further to the right:
//
//	answers.Cache, answers.Tools, pool.mu, requestTable.mu   answers.KnownClient, worker.mu, sendQueue.mu
//
// serverRequests.mu is held with none of these. The locks of session.Client and of files of lists come
// last. Nothing is sent to the client, and no process is waited for, under any of them.
type statelessSession struct {
	client        *session.Client
	options       Options
	working       context.Context // over when the client has left
	serverName    string
	idPrefix      string       // of the ids of our own requests
	lastID        atomic.Int64 // of our own requests
	signalsCaught func()       // see streams.ListenForSignals; nil in tests of parts
	wakeup        chan struct{}

	dispatcher     dispatcher
	serverRequests serverRequests
	pool           pool
	discovery      discovery
}

func newStatelessSession(c session.Session, o Options) *statelessSession {
	if c.Profile == nil {
		c.Profile = &policy.Profile{}
	}
	if o.MaxCalls <= 0 {
		o.MaxCalls = defaultMaxCalls
	}
	s := &statelessSession{options: o, serverName: c.Profile.Server, idPrefix: "mcp-jail/" + rand.Text() + "/", wakeup: make(chan struct{}, 1)}
	s.pool.workers = map[*worker]bool{} // before NewClient, which may ask for denials at once
	s.client = session.NewClient(c, mcpproxy.Hooks{}, s.pool.allDenials, s.pool.countRefused)
	if s.client.Tools != nil {
		s.client.Tools.Redact = diagnostics.NewRedactor(slices.Concat(c.Profile.Env, confine.SessionSecrets()))
	}
	s.dispatcher.session, s.dispatcher.client = s, s.client
	s.dispatcher.table.init(s.client, o.MaxCalls)
	s.serverRequests.session, s.serverRequests.client, s.serverRequests.open = s, s.client, map[int64]*serverRequest{}
	s.pool.session, s.pool.client, s.pool.doubtful = s, s.client, map[string]bool{}
	s.pool.maxStarting, s.pool.ending = max(1, runtime.GOMAXPROCS(0)/2), make(chan struct{}, o.MaxCalls)
	s.discovery.session, s.discovery.client = s, s.client
	s.discovery.cache = answers.New(s.client, answers.Options{Dir: o.Lists, Version: o.Version, Profile: s.discovery.currentProfile, Stale: s.wake})
	s.discovery.profile.Store(c.Profile)
	return s
}

func (s *statelessSession) nextID() []byte {
	return session.JSONString(s.idPrefix + strconv.FormatInt(s.lastID.Add(1), 10))
}

func (s *statelessSession) wait(ctx context.Context, ends <-chan os.Signal) (exit confine.Exit) {
	var last *diagnostics.Diagnosis
	dead, stopHangup := streams.WatchHangup(s.client.Config.In, s.client.Config.Out)
	defer stopHangup()
	var answered chan struct{}
	var late <-chan time.Time
	for inputEnded, over := s.client.InputEnded, false; !over; {
		over = true
		select {
		case <-inputEnded:
			inputEnded, over = nil, false
			s.client.Tasks.Go(s.dispatcher.endSubscriptions)
			answered, late = make(chan struct{}), time.After(s.client.Times.Term)
			s.client.Tasks.Go(func() {
				defer close(answered)
				s.dispatcher.table.unanswered.Wait()
			})
		case <-answered:
		case <-late:
			last = &diagnostics.Diagnosis{
				Code: diagnostics.CodeDied, Stage: diagnostics.StageCall, Attribution: diagnostics.None, Server: s.serverName,
				Explain: diagnostics.PageServerEnded,
				What:    "the client closed its end, and there was no answer within " + s.client.Times.Term.String(),
			}
		case <-s.client.Gone.Done:
		case <-dead:
			s.client.Gone.Set()
		case sig := <-ends:
			exit = session.EndedBy(sig)
		case <-ctx.Done():
			exit = session.EndedBy(syscall.SIGTERM)
		}
	}
	if exit.Signal != 0 || s.client.Gone.IsSet() {
		s.client.ShortenDeadline()
	}
	s.dispatcher.abandonRequests(last)
	if exit.Signal != 0 {
		return exit
	}
	return confine.Exit{Code: s.pool.exitStatus()}
}

func (s *statelessSession) declared() []string {
	if s.options.Declared == nil {
		return nil
	}
	return s.options.Declared()
}

func (s *statelessSession) sendToClient(f *mcpproxy.Frame) {
	s.noteSendError(s.client.Proxy.Client.Send(f))
	// The worker may have ended without a line end, and the session goes on.
	s.noteSendError(s.client.Proxy.Client.EndLine())
}

func (s *statelessSession) noteSendError(err error) {
	if err != nil && !errors.Is(err, mcpproxy.ErrGone) { // ErrGone is about the frame
		s.client.Gone.Set()
	}
}

var errNoProfile = errors.New("there is no profile")

func (s *statelessSession) toolNow(tool string, runs bool) (t Tool, err error) {
	if s.options.Tool != nil {
		t, err = s.options.Tool(tool, runs)
	}
	if err == nil && t.Profile == nil {
		err = errNoProfile
	}
	return t, err
}

func (s *statelessSession) resolveTool(tool string) (Tool, *diagnostics.Diagnosis) {
	t, err := s.toolNow(tool, false)
	if err == nil {
		return t, nil
	}
	d := diagnostics.ConfigFailure(s.serverName, err.Error())
	if known := (*session.DiagnosedError)(nil); errors.As(err, &known) {
		d = known.Diagnosis
	}
	d.Tool = tool
	s.client.Announce(d)
	return t, &d
}
