package confine

import (
	"context"

	"github.com/mcp-jail/mcp-jail/confine/internal/mac"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Prove returns the result of the self-test that must pass on a Mac before a server starts there. It
// makes the test if there is no result for this build of the system, or if again is set. say gets a
// line about what takes longer than a second; nil is silent. Where the test could not be made, the
// Proof says why. On other systems there is none, and the result is empty.
func Prove(ctx context.Context, again bool, say func(string)) SelfTest {
	return onThis(func(cacheDir string) (SelfTest, error) {
		return mac.Prove(ctx, cacheDir, mac.Options{Again: again, Say: say})
	})
}

// proof returns what the self-test of this Mac found out. It starts nothing.
func proof() SelfTest { return onThis(mac.Cached) }

// onThis returns the result of a self-test for this machine, or one that says why there is none.
func onThis(test func(cacheDir string) (SelfTest, error)) SelfTest {
	host, err := hostfs.LocalHost()
	if err != nil {
		return SelfTest{Why: err.Error()}
	}
	result, err := test(host.CacheDir)
	if err != nil {
		return SelfTest{Why: err.Error()}
	}
	if info, err := host.Lstat(host.CacheDir); err == nil {
		result.Volume = info.ID.Dev
	}
	return result
}

// proved returns a proof that there is already, and otherwise makes the self-test.
func proved(ctx context.Context, have SelfTest, say func(string)) SelfTest {
	if have.Made {
		return have
	}
	return Prove(ctx, false, say)
}
