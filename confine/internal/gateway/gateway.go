//go:build linux || darwin

package gateway

import (
	"context"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/policy"
)

// New returns the gateway of a jail. The rules, their limits and what concerns TLS are those of the profile, and
// the other options those of o. The interceptor is nil if no rule concerns requests.
func New(profile *policy.Profile, interceptor *Interceptor, run Runner, o egress.Options) *egress.Gateway {
	o.Rules = profile.Net
	proxy := &tlsworker.Proxy{Start: func(ctx context.Context) (*tlsworker.Worker, error) {
		program, err := findTLS(profile)
		if err != nil {
			return nil, err
		}
		return startWorker(ctx, run, program, tlsworker.Options{})
	}}
	o.StartTLS, o.EndTLS = proxy.StartTLS, proxy.Close
	if interceptor == nil {
		o.Rules = Rules(profile.Net)
		return egress.New(o)
	}
	o.Interceptor = interceptor
	return egress.New(o)
}
