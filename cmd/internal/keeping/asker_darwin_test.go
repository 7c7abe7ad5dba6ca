package keeping

import "github.com/mcp-jail/mcp-jail/lifecycle"

// A session asks processes whose changes are kept, too, for what the system has logged.
var _ lifecycle.DenialAsker = (*keptProcess)(nil)
