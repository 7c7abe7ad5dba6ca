package installed

import (
	"context"

	"github.com/mcp-jail/mcp-jail/packages/runtime"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Interpreters returns the interpreters of this machine for a language, but for the untrusted. None
// runs outside of a jail: see [runtime.HeaderVersion] and
// [jail.AskVersion]. What one has told is remembered.
func Interpreters(ctx context.Context, host *hostfs.Host, untrusted func(file string) string, lang runtime.Language) (runtime.Found, error) {
	versions := openVersions(host)
	defer versions.save()
	return versions.find(ctx, untrusted, lang)
}

func (v *versions) find(ctx context.Context, untrusted func(file string) string, lang runtime.Language) (runtime.Found, error) {
	return runtime.Finder{Host: v.host, Untrusted: untrusted, Version: v.ask}.Find(ctx, lang)
}
