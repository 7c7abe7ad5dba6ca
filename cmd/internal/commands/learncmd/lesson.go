package learncmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/asclient"
	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
	"github.com/mcp-jail/mcp-jail/cmd/internal/handshake"
	"github.com/mcp-jail/mcp-jail/cmd/internal/observed"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/learn"
)

// A lesson is the work of one learn.
type lesson struct {
	*learnCmd
	c    terminal.Console
	t    *asclient.Target
	host hostfs.Host

	server *session.Target // as its client starts it
	trial  *trial
	place  drive.Place

	seen     []policy.Observation // of all rounds that learn
	last     []policy.Observation // of the latest round
	sessions int                  // of the user's client, which have observations in seen
	left     int                  // observations that no file has, because there were too many
	hosts    []string             // that are reached; nil: the network is closed
	expected drive.Expected
	skipped  []drive.Skipped
	about    string // what the server calls itself

	result      *learn.Result
	verified    bool // the policy was tried, and has these differences
	differences []drive.Difference
	smallest    bool // each rule was tried to be left out
	dropped     int  // rules that were left out
	droppedIDs  []string
	tried       map[string]bool   // IDs of rules
	needed      map[inTable]bool  // that were tried: without the rule, a call of the tool, or each one, has another answer
	ownAnswer   *drive.Difference // with a process for each call; nil if there is none
	worked      map[string]bool   // tools with tables under which their answers were the same
	cut         string            // why the lesson ended early; "" if it did not
	rounds      int
}

func (l *lesson) close() {
	if l.trial != nil {
		l.trial.close()
	}
	if l.server != nil {
		l.server.Close()
	}
}

// learn has all rounds. With an error, l.result has what was learned before, or is nil.
func (l *lesson) learn(ctx context.Context) error {
	l.c.Notef("%s starts in a jail in which it reads all of your files but sensitive ones. What it writes is thrown away. It reaches no host: names and ports are noted", l.name())
	l.joinSessions()
	first, err := l.play(ctx, round{what: "watching", argv: l.argv(cmdline.LearnFiles)})
	if ctx.Err() != nil && len(l.seen) > 0 {
		return errors.Join(err, l.load(), l.conclude())
	}
	needsHosts := err != nil && l.reachesHosts()
	switch {
	case needsHosts:
		l.c.Notef("%s does not start without a network: its hosts are reached from now on", l.name())
	case err != nil:
		return l.withHosts(err)
	default:
		l.meet(first)
	}
	if err := l.load(); err != nil {
		return err
	}
	if err := l.conclude(); err != nil {
		return err
	}
	if !needsHosts {
		if l.expected.Again, err = l.play(ctx, round{what: "once more, to see what changes from one session to the next", argv: l.argv(cmdline.LearnFiles), atOnce: (perCall{l}).atOnce(l.server.Policy.Stateful)}); err != nil {
			return err
		}
	}
	if err := l.learnHosts(ctx); err != nil {
		return err
	}
	if err := l.conclude(); err != nil {
		return err
	}
	if err := l.verify(ctx); err != nil {
		return err
	}
	if err := l.shrink(ctx); err != nil {
		return err
	}
	return perCall{l}.learn(ctx)
}

// meet keeps what the first session with a server says of it.
func (l *lesson) meet(first *drive.Played) {
	l.expected.First, l.skipped, l.about = first, first.Skipped, first.Server
}

// reachesHosts reports whether there is a lesson with hosts.
func (l *lesson) reachesHosts() bool { return len(l.net) > 0 && l.net[0] != cmdline.LearnFiles }

// withHosts adds to the error of a server that did not start which hosts it asked for.
func (l *lesson) withHosts(err error) error {
	var hosts []string
	for _, o := range l.last {
		host, _, _ := strings.Cut(o.Target, ":")
		if o.Axis == policy.AxisNet && host != "" && host != policy.DenialOthers && !slices.Contains(hosts, host) && len(hosts) < 3 {
			hosts = append(hosts, host)
		}
	}
	if hosts == nil {
		return err
	}
	return fmt.Errorf("%w\n  it asked for %s: if it needs that to start, name it with --net HOST, or give --net ask", err, show.Line(strings.Join(hosts, ", ")))
}

// learnHosts is the lesson in which hosts are reached, if there are any. The server reads what the first
// lesson has learned.
func (l *lesson) learnHosts(ctx context.Context) (err error) {
	what, reaches := "watching", l.net
	switch {
	case !l.reachesHosts():
		return nil
	case l.asks():
		l.c.Notef("now %s reaches the hosts that you accept, and reads only what was learned", l.name())
	default:
		l.hosts = l.net
		l.c.Notef("now %s reaches %s, and reads only what was learned", l.name(), show.Line(strings.Join(l.hosts, ", ")))
	}
	for range maxWiden {
		argv, err := l.trial.open(l.result, readsWorkspace(l.server.Profile), reaches...)
		if err != nil {
			return err
		}
		first, err := l.play(ctx, round{what: what, argv: argv})
		if err != nil {
			return err
		}
		l.meet(first)
		if l.asks() {
			l.hosts = reached(l.last)
		}
		before := l.result
		if err := l.conclude(); err != nil {
			return err
		}
		if sameFiles(before, l.result) {
			break
		}
		what, reaches = "watching, with what it was refused", l.hosts // so the user is asked once about a host
	}
	l.expected.Again, err = again(ctx, l)
	return err
}

// maxWiden is how often a server that reaches hosts is started again with the files that it was refused.
const maxWiden = 3

// sameFiles reports whether two policies grant the same files.
func sameFiles(a, b *learn.Result) bool {
	ids := func(r *learn.Result) (ids []string) {
		for _, rule := range r.Rules() {
			if rule.Fs != nil {
				ids = append(ids, fmt.Sprint(rule.ID, rule.Fs.Rights()))
			}
		}
		return ids
	}
	return slices.Equal(ids(a), ids(b))
}

// reached returns the hosts and ports to which connections were not refused.
func reached(all []policy.Observation) (hosts []string) {
	for _, o := range all {
		if o.Axis == policy.AxisNet && o.Operation == "connect" && !o.Refused && !slices.Contains(hosts, o.Target) {
			hosts = append(hosts, o.Target)
		}
	}
	return hosts
}

func (l *lesson) name() string {
	if l.Server != "" {
		return show.Name(l.Server)
	}
	return show.Name(l.t.Stored)
}

// argv returns the arguments of mcp-jail for a round with the server as its client starts it.
func (l *lesson) argv(learns ...string) []string {
	return slices.Concat(l.t.Argv[:1], watchFlags(learns...), l.t.Argv[1:])
}

func watchFlags(learns ...string) (flags []string) {
	for _, v := range learns {
		flags = append(flags, "--learn", v)
	}
	return append(flags, "--discard", "true")
}

// A round is one session with the server.
type round struct {
	what   string
	argv   []string        // of mcp-jail
	atOnce int             // how many calls are under way at once; 0 means one
	asks   []drive.Request // in place of those of the other rounds; nil: those
	// each gets the answers as they come. If it returns false, the round ends. It may be nil.
	each func(i int, a drive.Answer) bool
}

// play has a round. What the server was observed to do is kept.
func (l *lesson) play(ctx context.Context, r round) (*drive.Played, error) {
	l.rounds++
	t := *l.t
	t.Argv = r.argv
	if l.trial != nil {
		t.Files = []*os.File{l.trial.file}
	}
	player := drive.Player{Client: handshake.Client{Name: "mcp-jail learn", Root: l.t.Root}, Requests: l.requests, Place: l.place, AtOnce: r.atOnce}
	if r.asks != nil {
		player.Requests = r.asks
	} else if l.expected.First != nil && l.requests == nil { // the same requests in each round
		player.Requests = requestsOf(l.expected.First)
	} else if l.requests == nil {
		player.Place = l.findPlace()
	}
	p := (perCall{l}).tellProgress(ctx, r.what, player.Requests)
	defer p.end()
	player.Each = func(i int, a drive.Answer) bool {
		p.answered.Add(1)
		return r.each == nil || r.each(i, a)
	}
	s, err := asclient.Start(ctx, l.c, &t, l.verbose)
	if err != nil {
		return nil, err
	}
	s.HoldBut(isFetching)
	played, err := player.Play(ctx, s.Out, s.In)
	s.End()
	o, watched := observed.OfProcess(l.host, l.t.Stored, s.PID())
	l.last = o.Observations
	l.see(o.Observations)
	l.left += o.Left
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil && !watched {
		err = errors.New("nothing was observed: the session has no record of it")
	}
	if err != nil {
		held, _ := s.Lines()
		return nil, failure(err, held)
	}
	return played, nil
}

// see keeps what earlier rounds have not seen: they ask the same, and a comment says how often it was done in
// one of them.
func (l *lesson) see(all []policy.Observation) {
	key := func(o policy.Observation) string {
		return fmt.Sprintf("%s %s %q %q %q %s %s %t", o.Axis, o.Operation, o.Target, o.Tool, o.Arguments, o.Scheme, o.Request, o.Absent)
	}
	before := map[string]bool{}
	for _, o := range l.seen {
		before[key(o)] = true
	}
	for _, o := range all {
		if !before[key(o)] {
			l.seen = append(l.seen, o)
		}
	}
}

// forClients begin the lines of mcp-jail run that are about the file of a client, in which a server that is
// watched may not be.
var forClients = []string{"  in the client's file: ", "  flags to add: ", "  the client's whole new command line: "}

// failure returns what mcp-jail run said of a failed start, and else the error and what it said.
func failure(err error, said []string) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("the server ended")
	}
	said = slices.DeleteFunc(slices.Clone(said), func(line string) bool {
		return isWaiting(line) || strings.HasPrefix(line, "warning: ") || slices.ContainsFunc(forClients, func(begin string) bool { return strings.HasPrefix(line, begin) })
	})
	var answered *handshake.ServerError
	switch {
	case len(said) == 0:
		return err
	case errors.As(err, &answered) && strings.HasPrefix(answered.Message, asclient.OwnPrefix): // the same in one line
		return ofSession(answered.Code, errors.New(strings.Join(said, "\n")))
	}
	return fmt.Errorf("%w\n  %s", err, strings.Join(said, "\n  "))
}

// requestsOf returns the requests of a session, without the lists, which each session begins with.
func requestsOf(p *drive.Played) []drive.Request {
	requests := []drive.Request{}
	for _, a := range p.Answers {
		if a.Request.Tool != "" {
			requests = append(requests, a.Request)
		}
	}
	return requests
}

// verify starts the server under the policy, and compares its answers.
func (l *lesson) verify(ctx context.Context) error {
	played, err := perCall{l}.playTrial(ctx, tried{what: "under the learned policy", policy: l.result})
	if err != nil {
		return err
	}
	different := l.expected.Compare(played)
	if len(different) > 0 {
		later, err := again(ctx, l)
		if err != nil {
			return err
		}
		l.expected = withLater(l.expected, later, played)
		different = l.expected.Compare(played)
	}
	if len(different) > 0 && !l.result.Stateful {
		if different, err = (perCall{l}).verifyStarts(ctx, different); err != nil {
			return err
		}
	}
	l.verified, l.differences = true, different
	return nil
}

// try has a round under a policy, and ends it at the first answer that is another one, which it returns.
func (l perCall) try(ctx context.Context, what string, r *learn.Result) (played *drive.Played, d *drive.Difference, err error) {
	played, err = l.playTrial(ctx, tried{what, r, nil, func(i int, a drive.Answer) bool {
		_, same := l.expected.CompareAt(i, a)
		return same
	}})
	if err != nil {
		return nil, nil, err
	}
	if different := l.expected.Compare(played); len(different) > 0 {
		return played, &different[0], nil
	}
	return played, nil, nil
}

// conclude makes the policy of what was observed so far.
func (l *lesson) conclude() error {
	if l.server == nil {
		return nil // it cannot be resolved: load has said so
	}
	in, err := l.input()
	if err != nil {
		return err
	}
	l.result = learn.Learn(in)
	return nil
}
