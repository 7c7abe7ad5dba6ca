package diagnostics

// MetaDenials is the member of a result's _meta that ResultMeta is the value of.
const MetaDenials = "dev.mcp-jail/denials"

// ResultMeta is the JSON value for _meta["dev.mcp-jail/denials"] of a tool
// result. It is one line.
func (d Diagnosis) ResultMeta() []byte { return nil }

// ResultBlock is the JSON of the text content block that is added to an error
// result. Its text begins "[mcp-jail]". It is one line.
func (d Diagnosis) ResultBlock() []byte { return nil }
