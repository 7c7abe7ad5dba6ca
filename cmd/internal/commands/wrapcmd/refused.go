package wrapcmd

import (
	"cmp"
	"errors"
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// leaveRefused leaves the selected servers that mcp-jail does not start on Windows, such as a batch file, or a
// script of another machine: their clients start them, and they would be gone after wrap.
func leaveRefused(files []*wrapping.File, sel wrapping.Selection, host hostfs.Host, as clients.Host) {
	if host.OS != "windows" {
		return
	}
	for _, f := range files {
		for _, e := range slices.Clone(f.Entries) {
			argv := f.Started(e, e.Argv(), as)
			_, wrapped := clients.ParseWrapped(argv)
			if !sel.Has(e.Server) || wrapped || e.Left != "" || len(argv) == 0 {
				continue
			}
			look := host
			look.Dir, look.Environ = cmp.Or(f.StartDir(e, as), host.Dir), slices.Clone(host.Environ)
			for _, v := range e.Env {
				if !v.Unset {
					look.Environ = append(look.Environ, v.Name+"="+f.Started(e, []string{v.Value}, as)[0])
				}
			}
			var refused *resolve.CommandError
			if _, err := resolve.FindProgram(look, argv...); errors.As(err, &refused) && refused.Refused {
				f.Leave(e.Key(), clients.Reason("would not start in a jail: "+refused.Error()))
			}
		}
	}
}
