package landlock

import (
	"github.com/mcp-jail/mcp-jail/policy"
)

// landlockRules is a ruleset compiled for exactly one ABI.
type LandlockRules struct {
	FS, Net, Scoped uint64
	Rules           []LandlockRule
}

type LandlockRule struct {
	Path   string
	Access uint64
	ID     policy.FileID // the object that must be found at Path; zero: not checked
}
