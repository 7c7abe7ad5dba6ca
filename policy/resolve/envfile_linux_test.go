package resolve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// TestVariableOfFile: a rule with a file gives the one variable of it, as a secret and in place of mcp-jail's own. What
// keeps it from being read is a warning that names both, and a link that a server could replace an error.
func TestVariableOfFile(t *testing.T) {
	home := testkit.Plant(t, "work/src/", "other/")
	testkit.WriteFile(t, home+"/work/.env", "ACME_API_KEY=from-file\nOTHER=not-given\n")
	testkit.WriteFile(t, home+"/other/broken", "ACME_API_KEY=\"x\n")
	testkit.Must(t, os.Symlink(home+"/work/.env", home+"/work/src/link"))
	host := testkit.Get(hostfs.LocalHostOf(home, []string{"PATH=/usr/bin:/bin", "HOME=" + home, "ACME_API_KEY=from-environment"}))(t)
	host.Dir = home + "/work"
	for file, want := range map[string]string{
		home + "/work/.env":     "from-file",
		"~/work/.env":           "from-file",
		home + "/other/gone":    "the variable ACME_API_KEY is granted from " + home + "/other/gone, which does not exist",
		home + "/other":         "is no file",
		home + "/other/broken":  "does not say it (line 1: the quoted value does not end)",
		home + "/work/src/link": "leads through the symbolic link",
	} {
		p := &policy.Policy{Server: "notes", Command: "/bin/sh", Workspace: ".", Stateful: true, Limits: policy.DefaultLimits,
			Fs: []policy.FsRule{policy.WorkspaceRule("write", "test")},
			// The file counts, wherever in the policy another rule for the variable is.
			Env: []policy.EnvRule{{Name: "ACME_API_KEY", Read: true, Where: "before"}, {Name: "ACME_API_KEY", Read: true, File: file, Where: "test"}, {Name: "ACME_API_KEY", Read: true, Where: "after"}}}
		out, warnings, err := resolve.Resolve(p, host)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", file, err)
			}
			continue
		}
		got := ""
		for _, v := range out.Env {
			if v.Name == "ACME_API_KEY" {
				got = v.Value
				if !v.Secret || !strings.Contains(v.Rule, "test") {
					t.Errorf("%s: %+v", file, v)
				}
			}
			if v.Name == "OTHER" {
				t.Errorf("%s: OTHER is given", file)
			}
		}
		for _, w := range warnings {
			if w.Code == "unset-variable" {
				got += w.Message
			}
		}
		if !strings.Contains(got, want) || strings.Contains(got, "from-environment") {
			t.Errorf("%s (%s): %q, want %q", file, filepath.Base(file), got, want)
		}
	}
}
