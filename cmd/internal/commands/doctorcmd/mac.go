package doctorcmd

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/jail"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/runtime"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// gitOnMac returns the git that a server on macOS starts, which is "" if there is none in the
// directories. real is the program behind it: "" for a stand-in without one.
func gitOnMac(host *hostfs.Host, dirs []string) (git, real string) {
	paths := hostfs.NewLinkResolver(host)
	for _, dir := range dirs {
		git = path.Join(dir, "git")
		if at, err := paths.Resolve(git); err != nil || !at.Exists() || !at.Info.Mode.IsRegular() || at.Info.Mode&0o111 == 0 {
			continue
		}
		if tool, ok := paths.StandIn(git); ok {
			return git, tool
		}
		return git, git
	}
	return "", ""
}

// lookGit looks for the git of macOS and asks for its version in a jail. A stand-in without developer
// tools is not started: it would open a dialog. ok is false if there is no git.
func (i *installation) lookGit(ctx context.Context) (t tool, ok bool) {
	git, real := gitOnMac(&i.host, i.searchPath())
	t = tool{Name: "git", For: []string{}, Path: real}
	switch {
	case git == "":
		return t, false
	case real == "":
		t.why = git + " " + hostfs.NoTools
		return t, true
	}
	waive := i.waivers(runline.NPM)
	if others := i.waivers(runline.PyPI); len(others) > len(waive) {
		waive = others
	}
	t.Version, t.why = versionOfGit(jail.AskVersion(ctx, &i.host, waive, real))
	return t, true
}

// versionOfGit returns the version in an answer, or why git does not start. A jail that needs a waiver
// tells neither.
func versionOfGit(answer string, err error) (version, why string) {
	var refused *jail.HostError
	if err != nil && !errors.As(err, &refused) {
		return "", "git does not start in a jail: " + err.Error()
	}
	return runtime.VersionIn(strings.TrimPrefix(answer, "git version ")), ""
}

// checkGit says what is wrong with the git of macOS. Only servers that run git are concerned.
func (t tool) checkGit() []finding {
	if t.why == "" {
		return nil
	}
	f := finding{Check: "programs", What: t.why, Why: "Servers that run git fail. All others are not concerned", Fix: "`mcp-jail why` shows what such a server was refused"}
	if t.Path == "" {
		f.What, f.Fix, _ = strings.Cut(t.why, ": ") // hostfs.NoTools has the remedy
	}
	return []finding{f}
}
