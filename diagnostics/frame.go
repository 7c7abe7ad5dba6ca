package diagnostics

// ErrorFrame is the diagnosis as one JSON-RPC 2.0 error, newline included, for
// the request whose raw id token is id. It is nil when id is no JSON string or
// number: an error without an id makes some clients drop the connection.
func (d Diagnosis) ErrorFrame(id []byte) []byte { return nil }
