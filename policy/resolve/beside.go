package resolve

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// checkBeside refuses a rule that a preset made for the directory around one file, if that directory
// is shared. dir is that directory, canonical.
func (b *resolver) checkBeside(r policy.FsRule, dir string) error {
	if r.Beside == "" {
		return nil
	}
	if at, err := b.paths.Resolve(path.Join(dir, path.Base(r.Beside))); err == nil && at.Exists() && at.Info.Mode.IsDir() {
		return &BesideError{&RuleError{r.Where, fmt.Sprintf("%s is a directory: name a file, in a directory of its own", show.TOML(r.Beside))}}
	}
	if why := b.places.WhyShared(dir); why != "" {
		return b.besideError(r, dir, why)
	}
	return nil
}

func (b *resolver) isNamedIn(rules []policy.FsRule, p, workspace string) bool {
	return slices.ContainsFunc(rules, func(r policy.FsRule) bool {
		abs, _ := b.places.Expand(r.Path, workspace)
		return r.Beside == "" && b.paths.Canonical(abs) == p
	})
}

// besideError refuses the rule for the directory around one file. It says how to move that file, if
// that is safe.
func (b *resolver) besideError(r policy.FsRule, dir, why string) error {
	file := path.Join(dir, path.Base(r.Beside))
	text := fmt.Sprintf("%s: the server makes other files beside it, so it would need all of %s (%s), which %s. Give it a file in a directory of its own",
		show.TOML(r.Beside), dir, r.Rights(), why)
	name := strings.TrimPrefix(path.Base(file), ".")
	own := "~/mcp-" + strings.TrimSuffix(name, path.Ext(name))
	line, ok := show.FlagOK("mkdir", own)
	var files []string
	for _, end := range [...]string{"", "-wal", "-shm", "-journal"} { // the files of one SQLite database
		at := b.paths.Lstat(file + end)
		if at.Err != nil {
			continue
		}
		word, written := show.FlagOK("", b.places.Abbreviate(file+end))
		ok = ok && written && at.Info.Mode.IsRegular() && b.mayMove(file+end)
		files = append(files, word)
	}
	do := "make that directory"
	if files != nil {
		do = "move the file there"
		to, _ := show.FlagOK("", own+"/")
		line += " && mv" + strings.Join(files, "") + to
	}
	if to := path.Join(b.h.Home, strings.TrimPrefix(own, "~/"), path.Base(file)); ok {
		text += fmt.Sprintf(", such as %s, and %s:  %s", show.Name(to), do, line)
	}
	return &BesideError{&RuleError{r.Where, text}}
}

// mayMove reports whether a file may be moved into the directory of a server. A project's file may
// have named it.
func (b *resolver) mayMove(file string) bool {
	dir := path.Dir(file)
	return places.Sensitive(b.h, b.p, file) == "" && places.Guarded(b.h, file, true) == "" && b.places.ProtectedAround(file) == "" && b.places.WhyRepository(file) == "" &&
		(!places.IsSystemPlace(b.h.OS, dir) || dir == "/tmp" || dir == "/var/tmp") && b.paths.Others(file) == ""
}
