package egress

import "github.com/mcp-jail/mcp-jail/policy/leak"

// Leaks lists the secrets for which an Interceptor searches requests. The zero value lists none.
type Leaks struct {
	Secrets []leak.Secret // that the jail holds
	Tokens  bool          // search for well-known kinds of tokens too
	Block   bool          // refuse a request with a secret or token
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
