package learncmd

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/learn"
)

// perCall is the end of a lesson: whether each call can have a process of its own.
type perCall struct{ *lesson }

// learn finds out whether each call can have a process of its own, and makes a table for each tool if so.
// Where that cannot be shown, one process stays, and the policy says why. It comes last: what was learned and
// verified before is kept if the time is over.
func (l perCall) learn(ctx context.Context) error {
	if !l.server.Policy.Stateful { // the configuration says so
		return nil
	}
	l.result.Why = "whether each call can have its own was not tried to the end"
	why, err := l.needsOneProcess()
	if why == "" && err == nil {
		why, err = l.dependsOnCalls(ctx)
	}
	if why == "" && err == nil {
		why, err = l.playPerCall(ctx)
	}
	if err != nil {
		return err
	}
	if l.result.Stateful {
		l.result.Why = why
	}
	return nil
}

// stateless returns whether each call has a process of its own.
func (l perCall) stateless() learn.Stateless {
	if !l.server.Policy.Stateful { // in each round
		return learn.Stateless{Able: true, Why: "your configuration says so", Observations: l.seen}
	}
	return learn.Stateless{}
}

// asked returns the requests of each round.
func (l perCall) asked() []drive.Request {
	if l.requests != nil {
		return l.requests
	}
	return requestsOf(l.expected.First)
}

// lists returns how many lists a round begins with.
func (l perCall) lists() int {
	all := l.expected.First.Answers
	return max(0, len(all)-len(l.asked()))
}

// dependsOnCalls asks one process in the opposite order, and then again all that wrote to no file. It returns which
// answer is another one then.
func (l perCall) dependsOnCalls(ctx context.Context) (string, error) {
	asked := l.asked()
	order := []int{}
	for i := range asked {
		order = append(order, len(asked)-1-i)
	}
	for i, r := range asked {
		if !slices.ContainsFunc(l.seen, func(o policy.Observation) bool { return o.Tool == r.Tool && isWrite(o) && !o.Refused }) {
			order = append(order, i)
		}
	}
	var different *drive.Difference
	played, err := l.playTrial(ctx, tried{"in another order, and again", l.result, order, func(i int, a drive.Answer) bool {
		d, same := l.expected.CompareAt(i, a)
		if !same {
			different = &d
		}
		return same
	}})
	switch {
	case err != nil:
		return "", err
	case different != nil:
		return "after other calls, the answer of " + different.Request.String() + " is another one", nil
	case len(played.Answers) != l.lists()+len(order):
		return "not each call is answered in another order", nil
	}
	return "", nil
}

// playPerCall asks the same with a process for each call, each with all that was learned, and learns from that what
// each tool needs. It returns what is different then, or under the tables.
func (l perCall) playPerCall(ctx context.Context) (string, error) {
	whole, left := *l.result, l.left
	each := whole
	each.Stateful, each.Tables = false, []learn.Table{whole.Tables[0]}
	each.Tables[0].Tool = config.AnyTool
	played, d, err := l.try(ctx, "with a process for each call", &each)
	switch {
	case err != nil:
		return "", err
	case len(played.Answers) == 0:
		return "it does not start with the default policy, which the process that lists the tools would have", nil
	case d != nil:
		return l.inOwnProcess(d), nil
	}
	l.workedWith(each.Tables[0], l.called()...)
	if l.left > left {
		return "it did more than could be noted", nil
	}
	own := l.last
	starts, err := l.lookedFor(&whole)
	if err != nil {
		return "", err
	}
	for _, seen := range [][]policy.Observation{own, slices.Concat(own, starts)} {
		tables, err := l.tables(seen)
		if err != nil || tables.Stateful { // they do not fit on a page, which it says
			return tables.Why, err
		}
		if d, err = l.tryNew(ctx, tables); err != nil {
			return "", err
		}
		if d == nil {
			l.result = tables
			return "", l.shrink(ctx)
		}
		if len(starts) == 0 {
			break
		}
	}
	return l.inOwnProcess(d), nil
}

// tables returns the policy with a table for each tool. Rules stay left out without which the answers were the same.
func (l perCall) tables(seen []policy.Observation) (*learn.Result, error) {
	in, err := l.input()
	if err != nil {
		return &learn.Result{}, err
	}
	in.Stateless = learn.Stateless{Able: true, Observations: seen, Workspace: cli.ShortPath(cmp.Or(in.Bare.Workspace, l.server.Host.Dir), l.host.Home),
		Why: "each answer is the same in a process that has seen no other call"}
	return learn.Learn(in).Without(l.droppedIDs...), nil
}

// lookedFor returns what the start may look for without opening it, which nothing sees: the directories that the
// command line names, as far as the policy of one process grants them. It is asked for only where the processes of
// some calls do not start, or answer, without.
func (l perCall) lookedFor(whole *learn.Result) (all []policy.Observation, err error) {
	learned, err := l.profileOf(false, fsRules(whole))
	if err != nil {
		return nil, err
	}
	for _, word := range session.Given(l.server)[1:] {
		if !filepath.IsAbs(word) {
			word = filepath.Join(l.server.Host.Dir, word)
		}
		word = canonical(word)
		if l.kind(word) == policy.KindDir && learned.RightsAt(word).Has(policy.Read) {
			all = append(all, policy.Observation{Axis: policy.AxisFs, Operation: policy.OpList.String(), Target: word, Dir: true})
		}
	}
	return all, nil
}

// fsRules returns the rules for files of all tables.
func fsRules(r *learn.Result) []policy.FsRule {
	rules := []policy.FsRule{}
	for _, rule := range r.Rules() {
		if rule.Fs != nil {
			rules = append(rules, *rule.Fs)
		}
	}
	return rules
}

// verifyStarts verifies again a policy whose tools have tables, with what the start may look for. different is what
// was different without.
func (l perCall) verifyStarts(ctx context.Context, different []drive.Difference) ([]drive.Difference, error) {
	starts, err := l.lookedFor(l.result)
	if err != nil || len(starts) == 0 {
		return different, err
	}
	l.seen = append(l.seen, starts...)
	if err := l.conclude(); err != nil {
		return nil, err
	}
	played, err := l.playTrial(ctx, tried{what: "under the learned policy", policy: l.result})
	if err != nil {
		return nil, err
	}
	return l.expected.Compare(played), nil
}

// inOwnProcess says which answer is another one with a process for each call.
func (l perCall) inOwnProcess(d *drive.Difference) string {
	l.ownAnswer = d
	return "in a process of its own, the answer of " + d.Request.String() + " is another one"
}

// callsAtOnce is how many processes of single calls run at once. Each has its own copies of the files, so none sees
// what another one does.
const callsAtOnce = 4

func (l perCall) atOnce(stateful bool) int {
	if stateful || len(l.hosts) > 0 { // hosts see the order of the calls
		return 1
	}
	return callsAtOnce
}

// tried is a round under a policy.
type tried struct {
	what   string
	policy *learn.Result
	order  []int // which of the requests are asked, in which order; nil: as in the other rounds
	// each gets each answer, with the place of the one that is expected. If it returns false, the round ends. It may be nil.
	each func(i int, a drive.Answer) bool
}

func (l perCall) playTrial(ctx context.Context, t tried) (*drive.Played, error) {
	argv, err := l.trial.argv(t.policy, l.hosts...)
	if err != nil {
		return nil, err
	}
	r := round{what: t.what, argv: argv, atOnce: l.atOnce(t.policy.Stateful), each: t.each}
	if t.order != nil {
		asked, lists := l.asked(), l.lists()
		r.asks = []drive.Request{}
		for _, i := range t.order {
			r.asks = append(r.asks, asked[i])
		}
		r.each = func(i int, a drive.Answer) bool {
			if i >= lists {
				i = lists + t.order[i-lists]
			}
			return t.each(i, a)
		}
	}
	seen := len(l.seen)
	played, err := l.play(ctx, r)
	l.seen = l.seen[:min(seen, len(l.seen))] // what it tries under its policy it has tried before
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil: // it does not even start
		said, _, _ := strings.Cut(err.Error(), "\n")
		played = &drive.Played{Broken: errors.New(said)}
	}
	return played, nil
}
