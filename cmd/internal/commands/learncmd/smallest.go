package learncmd

import (
	"context"

	"github.com/mcp-jail/mcp-jail/policy"
)

// shrink leaves out each rule without which the server gives the same answers. It tries many at once, and
// then halves of those that are needed. Rules about hosts stay: with a closed network, nothing tells whether
// they are needed.
func (l *lesson) shrink(ctx context.Context) error {
	if len(l.differences) > 0 {
		return nil
	}
	var ids []string
	for _, r := range l.result.Rules() {
		if r.Axis != policy.AxisNet {
			ids = append(ids, r.ID)
		}
	}
	before := len(ids)
	if err := l.leaveOut(ctx, ids); err != nil {
		return err
	}
	l.smallest = true
	l.dropped = before
	for _, r := range l.result.Rules() {
		if r.Axis != policy.AxisNet {
			l.dropped--
		}
	}
	return nil
}

// leaveOut leaves out all of some rules, or tries each half.
func (l *lesson) leaveOut(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	without := l.result.Without(ids...)
	different, err := l.compare(ctx, "without some rules, to see whether they are needed", without)
	if err != nil {
		return err
	}
	if len(different) == 0 {
		l.result = without
		return nil
	}
	if len(ids) == 1 {
		return nil
	}
	half := len(ids) / 2
	if err := l.leaveOut(ctx, ids[:half]); err != nil {
		return err
	}
	return l.leaveOut(ctx, ids[half:])
}
