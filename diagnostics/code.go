package diagnostics

// Code is the code of a JSON-RPC error that mcp-jail makes itself. The codes
// lie outside of -32768…-32000, which JSON-RPC and MCP keep for themselves.
type Code int

const (
	CodeExec    Code = -31001 // not started: the program is at fault
	CodeBoot    Code = -31002 // it ended before its first answer
	CodeDied    Code = -31003 // it ended during a call
	CodeConfig  Code = -31004 // the configuration has an error
	CodeJail    Code = -31005 // not started: there is no jail
	CodeTimeout Code = -31006 // it did not answer in time
)
