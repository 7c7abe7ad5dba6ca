package config

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

func codes(ws []policy.Warning) string {
	var out []string
	for _, w := range ws {
		out = append(out, w.Code)
	}
	return strings.Join(out, " ")
}
