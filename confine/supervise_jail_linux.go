package confine

import (
	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

// handedOver are the flags of the filter that hands calls over.
const handedOver = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV

func (b *jailBuilder) landlock() error { return restrictThread(b.server, b.ruleset) }

func (b *jailBuilder) seccomp() error {
	_, err := applySeccomp(b.server, b.order.Seccomp, 0)
	return err
}

// handOver puts the filter that hands calls over on the server. It comes after the
// self-test, whose calls would otherwise wait for the supervisor. By itself it refuses
// little: what would let a program around the supervisor.
func (b *jailBuilder) handOver() error {
	if len(b.order.Hooks) == 0 {
		return nil
	}
	fd, err := applySeccomp(b.server, b.order.Hooks, handedOver)
	if err != nil {
		return err
	}
	here, err := b.process.fetch(b.hand, fd)
	if err != nil {
		return err
	}
	v := newSupervisor(&b.builder, b.reach(fd), 0, b.lost)
	v.listener = listener(here)
	b.supervisor = v
	v.open.close(nil)
	v.running.Add(1)
	atOnce(v.receive)
	return nil
}

// reach is that of a supervisor outside of the jail: tasks of the stub act for it.
func (b *jailBuilder) reach(handle int) reach {
	p := b.process
	next := firstWorker
	return reach{
		newTask: func() (*stub.Task, error) {
			p.hand.mu.Lock()
			defer p.hand.mu.Unlock()
			if next == firstWorker {
				next++
				return b.worker, nil
			}
			t := p.hand.t.Child(next)
			if err := p.hand.t.Thread(t); err != nil {
				return nil, err
			}
			next++
			return t, nil
		},
		beyond: func(f func(t *stub.Task)) {
			p.hand.mu.Lock()
			defer p.hand.mu.Unlock()
			f(p.hand.t)
		},
		eyes: b.eyes,
		lend: func(fd int) (int, error) {
			p.hand.mu.Lock()
			defer p.hand.mu.Unlock()
			defer unix.Close(fd)
			return p.lend(p.hand.t, fd)
		},
		handle: handle,
		depth:  1,
	}
}

// lost ends a jail whose calls cannot be carried out.
func (b *jailBuilder) lost(step string, err error) {
	b.say(message{kind: saysNote, detail: startError(step, err).Error()})
	b.end()
}
