package inspect

import (
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// grantLine returns the command that grants what a record lacks, or "" if no flag does, or if neither
// a file of a client nor a configuration has the server.
func grantLine(host hostfs.Host, r diagnostics.Record, s serverRecords) string {
	what := "--last"
	switch {
	case r.Lacks():
	case r.LacksHost():
		what = "--net HOST"
	default:
		return ""
	}
	line, ok := show.TypedOK("mcp-jail grant", s.name())
	switch {
	case !ok:
		return ""
	case s.Project != "" && cli.Meant(host, s.name()).Stored != s.Server: // the name means it there alone
		return show.InDir(filepath.Dir(s.Project), line+" "+what)
	case s.Project != "" || isConfigured(host, s.Server) || isWrapped(host, s.Server):
		return line + " " + what
	}
	return ""
}

func isConfigured(host hostfs.Host, server string) bool {
	cfg, _, err := session.LoadTrusted(config.LoadOptions{Workspace: host.Dir}, host)
	return err == nil && cfg.Servers[server] != nil
}

func isWrapped(host hostfs.Host, server string) bool {
	_, files, err := (&entries.Choice{}).Find()
	if err != nil {
		return false
	}
	for _, f := range files {
		for _, e := range f.Entries {
			if w, wrapped := clients.ParseWrapped(e.Argv()); wrapped && entries.KeptName(f, e, w, host) == server {
				return true
			}
		}
	}
	return false
}
