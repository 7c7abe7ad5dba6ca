package confine

import (
	"slices"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

// openNetwork opens the session's proxy if hosts are granted, and gives the server the variables
// that lead there. A variable that a rule of the policy sets keeps its value. openNetwork returns the
// port, or 0.
func (p *Process) openNetwork(sp *spec.Spec, run gateway.Runner) (port int, err error) {
	profile := p.plan.Profile
	if !slices.ContainsFunc(profile.Net, func(r policy.NetRule) bool { return r.Allow }) {
		return 0, nil
	}
	listeners, port, err := egress.NewProxyListeners()
	if err != nil {
		return 0, &step.Error{Step: step.Network, Errno: step.Errno(err), Detail: "the session's own proxy: " + err.Error()}
	}
	g := gateway.New(profile, p.interceptor, run, egress.Options{Tell: func(l egress.Leak) { p.notify(Notice{Leak: &l}) }})
	password := proxyPassword()
	g.ServeProxy(listeners, password)
	p.gateway = g
	sp.Env = slices.Clone(sp.Env) // the plan stays as it is
	for _, v := range egress.ProxyVariables(port, password, sp.Program) {
		if !slices.ContainsFunc(sp.Env, func(set string) bool { return strings.HasPrefix(set, v.Name+"=") }) {
			sp.Env = append(sp.Env, v.Name+"="+v.Value)
		}
	}
	return port, nil
}

// proxyPassword is that of all proxies of this process: what shows a server's output must know it
// before a server starts. A server reaches its own proxy only, as each has a port of its own.
var proxyPassword = sync.OnceValue(egress.NewProxyPassword)

// SessionSecrets returns what every server of this process may hold besides the secrets of its
// policy: no output must show it.
func SessionSecrets() []policy.Variable {
	return []policy.Variable{{Name: "HTTP_PROXY", Value: proxyPassword(), Secret: true}}
}
