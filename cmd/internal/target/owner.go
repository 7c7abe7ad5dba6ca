package target

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// ClaimHome returns an error if the directory with the private HOME and the records of the target's
// name was made for another server. Callers call it before they use anything there.
func (t *Target) ClaimHome() error {
	err, name := t.claimHome(), show.Name(t.Policy.Server)
	switch {
	case errors.Is(err, records.ErrOtherOwner) && t.Config != nil:
		return ConfigErrorf("servers.%s: the private HOME of this name was made for another server: one on the command line, or of another file. Give this server another name. If the other one is gone, mcp-jail rm %s removes what it has kept", name, name)
	case errors.Is(err, records.ErrOtherOwner):
		return UsageErrorf("the private HOME of the name %s was made for another server: a configured one, or one with another command. Choose another name with --name. If the other one is gone, mcp-jail rm %s removes what it has kept", name, name)
	case err != nil && !t.Policy.HomeReal:
		return &HostError{err}
	}
	return nil
}

// claimHome calls records.Claim.
func (t *Target) claimHome() error {
	if t.Policy.Project != "" {
		return records.TakeProjectHome(t.Host, t.Policy.Server, t.Policy.KeptName(), "home-"+policy.ShortHash(t.Policy.Project))
	}
	given, dir := t.givenCommand(), t.Host.Dir
	if t.Config != nil {
		dir = t.workspaceDir()
	}
	own := records.Owner{Configured: t.Config != nil, Files: AbsolutePaths(t.source.options.Files), Program: digest(cmdline.Identity(given, dir))}
	return records.Claim(t.Host, t.Policy.Server, own, func(a records.About) (o records.Owner, known bool) {
		if a.Configuration == nil || len(a.Command) == 0 {
			return o, false
		}
		o = records.Owner{Configured: a.Configuration.Configured, Files: a.Configuration.Files, Program: own.Program}
		if text := cmdline.Identity(a.Command, ""); text != cmdline.Identity(given, "") {
			o.Program = digest(text)
		}
		return o, true
	})
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
