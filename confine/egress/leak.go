package egress

import "github.com/mcp-jail/mcp-jail/diagnostics/leak"

// Leaks is what an Interceptor looks for in requests. The zero value is nothing.
type Leaks struct {
	Secrets []leak.Secret
	// Held are the names of those secrets that the jail does not have. No field of a request
	// is for their values.
	Held   []string
	Tokens bool // well-known kinds of tokens, too
	Block  bool // requests with one are refused
}

// IsZero reports whether there is nothing to look for.
func (l Leaks) IsZero() bool { return len(l.Secrets) == 0 && !l.Tokens }

// Leak is a secret in a request.
type Leak struct {
	Host  string
	Place Place
	Found leak.Found
}

// Place is a part of a request.
type Place string

// Places.
const (
	PlaceURL    Place = "the URL"
	PlaceHeader Place = "a header field"
	PlaceBody   Place = "the body"
)

// IsValid reports whether p is one of the places above.
func (p Place) IsValid() bool { return p == PlaceURL || p == PlaceHeader || p == PlaceBody }
