package session

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Trial has a target start packages that the user has not accepted yet.
type Trial struct {
	Store    store.Store // of the packages
	LockFile string
	StateDir string // of the private HOME, in place of that of the user's servers
}

// Try makes t, which is not resolved yet, a trial. Its policy loses the rights that could do
// harm: it reaches no host, and writes nothing but its own HOME. The HOME of earlier
// sessions is not there. It reads what the server reads.
func (t *Target) Try(trial Trial) {
	t.trial, t.Host.StateDir = &trial, trial.StateDir
	p := t.Policy
	p.Net, p.Inbound, p.HomeReal = []policy.NetRule{}, nil, false
	p.Fs = slices.Clone(p.Fs)
	p.Fs = slices.DeleteFunc(p.Fs, func(r policy.FsRule) bool { return r.Rights() != 0 && !r.Read && !r.Execute })
	for i := range p.Fs {
		p.Fs[i].Create, p.Fs[i].Update, p.Fs[i].Delete = false, false, false
	}
}
