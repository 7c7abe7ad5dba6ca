package egress

import "github.com/mcp-jail/mcp-jail/confine/egress/http1"

// Section is the part of a message that has a field.
type Section = http1.Section

// The sections of a message.
const (
	InHeader  = http1.InHeader
	InTrailer = http1.InTrailer
)

// CheckField is [http1.CheckField], for an Interceptor.
func CheckField(name string, in Section) string { return http1.CheckField(name, in) }

// CanonicalField is [http1.CanonicalField], for an Interceptor.
func CanonicalField(name string) string { return http1.CanonicalField(name) }
