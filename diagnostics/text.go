package diagnostics

// Text is the diagnosis for stderr: several lines, each with the prefix
// "mcp-jail: " and a newline.
func (d Diagnosis) Text() string { return "" }
