package policy

import (
	"fmt"
)

// normal validates again what decoding validates: a policy may have been built
// by a program.
func (p *Policy) Normalize() ([]NetRule, error) {
	var ps Problems
	bad := func(where, key string, err error) {
		if err != nil {
			file, line := SplitPosition(where)
			ps = append(ps, Problem{file, line, key, err.Error()})
		}
	}
	net := make([]NetRule, len(p.Net))
	for i, r := range p.Net {
		host, err := NormalizeHost(r.Host)
		if err == nil {
			err = CheckNetRule(r)
		}
		bad(r.Where, "host", err)
		net[i], net[i].Host = r, host
	}
	for _, r := range p.Inbound {
		if r.Port < 1 || r.Port > 65535 {
			bad(r.Where, "inbound", fmt.Errorf("%d is no port", r.Port))
		}
	}
	for _, r := range p.Fs {
		bad(r.Where, "path", CheckPath(r.Path))
	}
	for _, r := range p.Env {
		bad(r.Where, "name", CheckEnvName(r.Name))
	}
	for _, s := range p.Sensitive {
		bad(p.Where, "sensitive_paths", CheckSensitivePath(s))
	}
	if !ValidServerName(p.Server) {
		bad(p.Where, "server", fmt.Errorf("the server name %q is refused: a name consists of letters, digits, '.', '_' and '-', and does not begin with '.'", Abbreviate(p.Server)))
	}
	if err := ps.Err(); err != nil {
		return nil, err
	}
	return net, p.Validate()
}
