package confine

import (
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

// openGate takes the sockets that are handed over in a jail, has them served, and tells
// those in there to go on. Where a shim ends instead, it says why on its pipe.
func (p *Process) openGate(goOn func()) error {
	order := &p.plan.Order.Gate
	if !order.Any() {
		return nil
	}
	var got gateway.Handed
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
	p.Mu.Lock()
	defer p.Mu.Unlock()
	profile := p.plan.Profile
	if order.Open {
		if err := p.makeGate(profile); err != nil {
			got.Close()
			return err
		}
		if got.Refused != nil {
			p.packets = gateway.LeaveToKernel(got.Refused)
		}
		p.gate.Serve(got.Sockets)
	}
	if order.Asked {
		if err := p.makeGate(profile); err != nil {
			got.Close()
			return err
		}
		p.asks = gateway.NewAsks(got.Asks, p.gate)
	}
	if order.Inbound {
		p.inbound = gateway.NewInbound(p.control, profile.Inbound, got.Spares, func(warning string) { p.remark(Remark{warning, true}) })
	}
	goOn()
	return nil
}

// makeGate makes the gate of a profile.
func (p *Process) makeGate(profile *policy.Profile) error {
	options := egress.Options{Rules: profile.Net, Limits: egress.Limits{
		Connections: profile.Limits.Connections, OutBytes: int64(profile.Limits.NetOutMB) << 20,
	}}
	if p.Terminator == nil {
		options.Rules = gateway.GateRules(profile.Net)
	} else {
		options.Interceptor = p.Terminator
		if err := p.Terminator.Ready(); err != nil {
			return &step.Error{Step: gateway.StepRequests, Errno: step.Errno(err), Detail: err.Error()}
		}
	}
	p.gate = egress.New(options)
	return nil
}

// closeGate ends what is done for the jail, whose init has ended. What was recorded
// stays.
func (p *Process) closeGate() {
	p.Mu.Lock()
	gate, inbound, asks, terminator := p.gate, p.inbound, p.asks, p.Terminator
	p.Mu.Unlock()
	if asks != nil {
		asks.Close()
	}
	var ending sync.WaitGroup
	defer ending.Wait()
	if inbound != nil {
		ending.Go(inbound.Close)
	}
	if gate != nil {
		if terminator != nil { // what it is told last must not keep the session from ending
			deaf := time.AfterFunc(gateway.DeafTime, terminator.Kill)
			defer deaf.Stop()
		}
		gate.Close()
	}
	if terminator != nil {
		terminator.End()
	}
}

// gateDenials returns the refusals of the gateway, without those of connections to the
// jail's own ports: we connect there before the server listens.
func gateDenials(g *egress.Gateway, inbound []int) []policy.Denial {
	return slices.DeleteFunc(g.Denials(), func(d policy.Denial) bool {
		host, port, err := net.SplitHostPort(d.Target)
		n, _ := strconv.Atoi(port)
		return err == nil && host == "localhost" && slices.Contains(inbound, n)
	})
}
