package confine

import (
	"context"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/selftest"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Prove returns the result of the self-test that must pass on a Mac before a server starts there. It
// makes the test if there is no result for this build of the system, or if again is set. say gets a
// line about what takes longer than a second; nil is silent. Where the test could not be made, the
// Proof says why. On other systems there is none, and the result is empty.
func Prove(ctx context.Context, again bool, say func(string)) SelfTest {
	host, err := hostfs.LocalHost()
	if err != nil {
		return SelfTest{Proof: features.Proof{Why: err.Error()}}
	}
	result, err := selftest.Prove(ctx, host.CacheDir, selftest.Options{Again: again, Say: say})
	if err != nil {
		return SelfTest{Proof: features.Proof{Why: err.Error()}}
	}
	result.Proof.Volume = volumeOf(host)
	return result
}

// proof returns what the self-test of this Mac found out. It starts nothing.
func proof() features.Proof {
	host, err := hostfs.LocalHost()
	if err != nil {
		return features.Proof{Why: err.Error()}
	}
	p := selftest.Cached(host.CacheDir).Proof
	p.Volume = volumeOf(host)
	return p
}

// volumeOf returns the device of the volume on which the self-test is made, or 0.
func volumeOf(host hostfs.Host) uint64 {
	info, err := host.Lstat(host.CacheDir)
	if err != nil {
		return 0
	}
	return info.ID.Dev
}

// proved returns a proof that there is already, and otherwise makes the self-test.
func proved(ctx context.Context, have features.Proof, say func(string)) features.Proof {
	if have.Made {
		return have
	}
	return Prove(ctx, false, say).Proof
}
