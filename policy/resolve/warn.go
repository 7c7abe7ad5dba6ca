package resolve

import (
	"fmt"

	"github.com/mcp-jail/mcp-jail/policy"
)

// A warningList has the warnings of a resolution. Its parts share it.
type warningList struct{ list []policy.Warning }

func (b *warningList) warn(code, where, format string, args ...any) {
	b.list = append(b.list, policy.Warning{Code: code, Message: fmt.Sprintf(format, args...), Where: where})
}
