//go:build linux || darwin

package gateway

import (
	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

// New returns the gateway of a jail. The rules, their limits and what concerns TLS are those of the profile, and
// the other options those of o. The interceptor is nil if no rule concerns requests.
func New(profile *policy.Profile, interceptor *Interceptor, o egress.Options) (*egress.Gateway, error) {
	o.Rules = profile.Net
	proxy := &tlsworker.Proxy{Find: func() (string, error) { return findTLS(profile) }}
	o.StartTLS, o.EndTLS = proxy.StartTLS, proxy.Close
	if interceptor == nil {
		o.Rules = Rules(profile.Net)
		return egress.New(o), nil
	}
	o.Interceptor = interceptor
	if err := interceptor.Ready(); err != nil {
		return nil, &step.Error{Step: StepTLS, Errno: step.Errno(err), Detail: err.Error()}
	}
	return egress.New(o), nil
}
