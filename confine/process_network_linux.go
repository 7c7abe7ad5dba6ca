//go:build !seatbelt

package confine

import (
	"sync"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

// openGateway receives the sockets that the jail hands over, serves them, and calls goOn. If the
// jail ends before it has handed over all of them, openGateway returns nil: an event or the exit
// of the jail tells the reason.
func (p *Process) openGateway(goOn func()) error {
	network := &p.plan.Spec.Network
	if !network.Any() {
		return nil
	}
	var got gateway.Passed
	all, err := got.ReceiveAll(p.control)
	if err != nil || !all {
		got.Close()
	}
	if err != nil {
		return &step.Error{Step: step.Network, Errno: step.Errno(err), Detail: "sockets of the jail"}
	}
	if !all {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	profile := p.plan.Profile
	if network.Open {
		if err := p.makeGateway(profile); err != nil {
			got.Close()
			return err
		}
		// The last close of a packet socket is slow, and would hold up the end of the jail.
		if got.Refused != nil {
			p.packets = gateway.CloseInKernel(got.Refused)
		}
		p.gateway.Serve(got.Sockets)
	}
	if network.Brokered {
		if err := p.makeGateway(profile); err != nil {
			got.Close()
			return err
		}
		p.broker = gateway.NewBroker(got.Broker, p.gateway)
	}
	if network.Inbound {
		p.inbound = gateway.NewInbound(p.control, profile.Inbound, got.Inbound, func(warning string) { p.notify(Notice{Text: warning, Warning: true}) })
	}
	goOn()
	return nil
}

func (p *Process) makeGateway(profile *policy.Profile) error {
	options := egress.Options{Rules: profile.Net, Limits: egress.Limits{
		Connections: profile.Limits.Connections, OutBytes: int64(profile.Limits.NetOutMB) << 20,
	}}
	options.Tell = func(l egress.Leak) { p.notify(Notice{Leak: &l}) }
	if p.interceptor == nil {
		options.Rules = gateway.Rules(profile.Net)
	} else {
		options.Interceptor = p.interceptor
		if err := p.interceptor.Ready(); err != nil {
			return &step.Error{Step: gateway.StepTLS, Errno: step.Errno(err), Detail: err.Error()}
		}
	}
	options.StartTLS = gateway.ProxyTLS(profile)
	options.Closed, options.Ask = p.plan.Network == plan.NetworkClosed, p.askHost
	if p.observe != nil {
		options.Observe = func(o policy.Observation) {
			p.observing.Lock()
			defer p.observing.Unlock()
			p.observe(o)
		}
	}
	p.gateway = egress.New(options)
	return nil
}

// closeGateway closes the gateway and the interceptor of a jail whose supervisor has ended. The
// recorded refusals stay.
func (p *Process) closeGateway() {
	p.mu.Lock()
	network, inbound, broker, interceptor := p.gateway, p.inbound, p.broker, p.interceptor
	p.mu.Unlock()
	if broker != nil {
		broker.Close()
	}
	var ending sync.WaitGroup
	defer ending.Wait()
	if inbound != nil {
		ending.Go(inbound.Close)
	}
	gateway.Close(network, interceptor)
}

// Listening returns the TCP ports at which programs of the jail listen, sorted. known is false if the
// jail has ended, or has no network of its own.
func (p *Process) Listening() (ports []int, known bool) {
	// The supervisor is our child: until it has been waited for, no other process has its number.
	return proc.Listening(p.PID())
}
