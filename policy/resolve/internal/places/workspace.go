package places

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// A Workspace is where the relative rules of a server begin.
type Workspace struct {
	Dir      string        // canonical; "" if there is none
	Links    []policy.Link // crossed on the way to it
	Warnings []policy.Warning
}

// FindWorkspace returns the root of relative rules. "" means that the server runs without one
// (docs/policy.md "Default and explicit policy").
func (b *Places) FindWorkspace() (Workspace, error) {
	written := b.p.Workspace
	abs, _ := b.Expand(cmp.Or(written, "."), b.h.Dir)
	at, err := b.paths.Resolve(abs)
	which := ""
	if written != abs {
		which = " (" + abs + ")"
	}
	fail := func(reason string) (Workspace, error) {
		if written == "" {
			return b.noWorkspace("the working directory %s %s: the server runs without a workspace; name one with --workspace DIR or workspace = \"DIR\"", abs, reason)
		}
		where := b.p.Where
		if b.p.FromCommandLine {
			where = "--workspace"
		}
		return Workspace{}, &WorkspaceError{written, reason, where}
	}
	switch why := b.WhyTwoWays(written, b.h.Dir); {
	case err != nil:
		return fail(err.Error())
	case why != "":
		return fail(why)
	case at.Reason != "":
		return fail("cannot be reached: " + at.Reason)
	case !at.Exists():
		return fail("does not exist" + which)
	case !at.Info.Mode.IsDir():
		return fail("is not a directory" + which)
	}
	if b.p.Default {
		if reason := b.whyUnsafe(at.Path); reason != "" {
			return b.noWorkspace("%[3]s has no project folder, because %[1]s %[2]s. If it needs one, name it: mcp-jail grant %[3]s --workspace DIR", at.Path, reason, b.p.Server)
		}
	}
	return Workspace{Dir: at.Path, Links: at.Links}, nil
}

func (b *Places) noWorkspace(format string, args ...any) (Workspace, error) {
	return Workspace{Warnings: []policy.Warning{{Code: "no-workspace", Message: fmt.Sprintf(format, args...), Where: b.p.Where}}}, nil
}

// WorkspaceError reports a workspace that was named and cannot be used.
type WorkspaceError struct {
	Workspace string // as written
	Reason    string
	Where     string
}

func (e *WorkspaceError) Error() string {
	return strings.TrimPrefix(e.Where+": ", ": ") + fmt.Sprintf("the workspace %q %s", e.Workspace, e.Reason)
}
