package diagnostics

// Code is the code of a JSON-RPC error that mcp-jail generates. The codes lie outside of
// -32768…-32000, which JSON-RPC and MCP reserve.
type Code int

const (
	CodeExec    Code = -31001 // not started, because of the program
	CodeBoot    Code = -31002 // the server ended before its first response
	CodeDied    Code = -31003 // the server ended during a call
	CodeConfig  Code = -31004 // the configuration has an error
	CodeJail    Code = -31005 // not started, because the jail cannot be built
	CodeTimeout Code = -31006 // the server did not respond in time
)
