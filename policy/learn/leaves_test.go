package learn

import "github.com/mcp-jail/mcp-jail/policy"

// Capped returns how many observations of each axis were left out because the policy would be longer
// than a page.
func (r *Result) Capped() map[policy.Axis]int {
	out := map[policy.Axis]int{}
	for _, u := range r.Unlearned {
		if u.Reason == Capped {
			out[u.Axis]++
		}
	}
	return out
}

// Leaves returns the reason why an observation has no rule, or "" if the policy was learned from it.
func (r *Result) Leaves(o policy.Observation) Reason {
	k := keyOf(o)
	switch {
	case o.Target == policy.DenialOthers:
		return Capped
	case isSocket(o):
		return Socket
	}
	if o.Axis == policy.AxisNet {
		if host, port, ok := splitTarget(o.Target); ok && o.Operation != "resolve" {
			k = key{policy.AxisNet, "connect", link{host: host, port: port}.target()}
		} else if host, err := policy.NormalizeTarget(o.Target); err == nil && o.Operation == "resolve" {
			k.target = host
		}
	}
	for _, u := range r.Unlearned {
		if u.Axis == k.axis && u.Operation == k.operation && u.Target == k.target {
			return u.Reason
		}
	}
	return ""
}
