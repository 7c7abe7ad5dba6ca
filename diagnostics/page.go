package diagnostics

import (
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
	"github.com/mcp-jail/mcp-jail/policy"
)

// pageOf returns the page about a hint that names none itself.
func pageOf(c *facts.Case, h Hint) Page {
	switch h.Axis {
	case policy.AxisFs:
		switch {
		case h.Missing == facts.Right(policy.Execute):
			return PageExecute
		case h.Missing != facts.Right(policy.Write) && paths.IsSensitive(c, h.Target):
			return PageFsSensitive
		case h.Missing != facts.Right(policy.Write):
			return PageFsRead
		case paths.WriteForbidden(c, h.Target) != "":
			return PageFsProtected
		}
		return PageFsWrite
	case policy.AxisNet:
		return PageNetHost
	case policy.AxisIPC:
		return PageSocket
	case policy.AxisEnv:
		return PageEnv
	case policy.AxisProcess:
		switch h.Missing {
		case facts.Right(policy.Execute):
			return PageExecute
		case "jail":
			return PageJail
		}
		return PageProgram
	}
	return ""
}
