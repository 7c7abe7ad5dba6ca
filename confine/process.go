//go:build darwin || linux

package confine

import "syscall"

// What a Process does alike on every system that has jails.

// Plan returns the plan with which the process was started.
func (p *Process) Plan() *Plan { return p.plan }

// Kill ends every process of the jail at once. With namespaces it kills the supervisor process,
// which is PID 1 of the outer PID namespace: the kernel then ends all other processes
// (pid_namespaces(7)). Elsewhere the supervisor ends them.
func (p *Process) Kill() error {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	return p.Signal(syscall.SIGKILL)
}

// Done returns a channel that is closed when every process of the jail is gone. With namespaces the
// supervisor process may still be ending, and the kernel still be freeing them.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns how the program ended, once every process of the jail is gone.
func (p *Process) Wait() (Exit, error) {
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	exit := p.exit
	exit.Why = p.why
	return exit, nil
}

// OnNotice calls f for each notice of the jail: first for the notices that came already, then
// for new ones.
func (p *Process) OnNotice(f func(Notice)) {
	p.mu.Lock()
	earlier := p.notices
	p.onNotice, p.notices = f, nil
	p.mu.Unlock()
	for _, n := range earlier {
		f(n)
	}
}

func (p *Process) notify(n Notice) {
	p.mu.Lock()
	tell := p.onNotice
	if tell == nil {
		p.notices = append(p.notices, n)
	}
	p.mu.Unlock()
	if tell != nil {
		tell(n)
	}
}
