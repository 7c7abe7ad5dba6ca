package resolve

import (
	"bytes"
	"path"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/masks"
)

// gitConfig returns the configuration with the settings of the user: "" where HOME leads to the user's
// own, and unless the server can write a repository, whose log has the user's name already.
func (b *resolver) gitConfig(out *policy.Profile) string {
	var writable []string
	for _, dir := range b.masks.Git.Repositories() {
		if e, _ := b.entries.Find(dir); e.Rights.Has(policy.Create | policy.Update) {
			writable = append(writable, dir)
		}
	}
	if !out.HomePrivate || writable == nil {
		return ""
	}
	config, filters, signs := b.masks.Git.UserSettings(b.readsGitFile)
	if signs {
		b.warnings.warn("git-config", "", "your configuration of git says commit.gpgsign, and git in the jail signs nothing")
	}
	for _, dir := range writable {
		attributes := path.Join(path.Dir(dir), ".gitattributes")
		text, err := b.h.ReadHead(attributes, masks.MaxGitConfig)
		for _, name := range filters {
			if err == nil && bytes.Contains(text, []byte("filter="+name)) {
				b.warnings.warn("git-config", "", "git in the jail does not have the filter %q of your configuration: it refuses to write the files that %s names for it", name, attributes)
			}
		}
	}
	return config
}

// readsGitFile lets the server read a file that the user's configuration of git names, and reports
// whether it can.
func (b *resolver) readsGitFile(file string) bool {
	at, err := b.paths.Resolve(file)
	if err != nil || !at.Exists() || !at.Info.Mode.IsRegular() {
		return false
	}
	e, covered := b.entries.Find(at.Path)
	if !e.Rights.Has(policy.Read) {
		if covered && e.Path != "/" || b.places.Sensitive(at.Path) != "" || b.writers.whyChangeable(at) != "" {
			return false
		}
		b.entries[at.Path] = policy.Entry{Path: at.Path, Kind: policy.KindFile, Rights: policy.Read, Origin: policy.OriginBaseline, Named: file, Rule: "your configuration of git", ID: at.Info.ID}
	}
	b.links = append(b.links, at.Links...)
	return true
}
