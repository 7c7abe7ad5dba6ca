package mcpproxy

// Era is a generation of the protocol. It is a property of a message, not of a
// connection, which may carry both.
type Era uint8

const (
	EraUnknown Era = iota // the message does not say
	Legacy                // 2024-11-05 … 2025-11-25: a session that begins with initialize
	Modern                // 2026-07-28: every request is self-contained
)

// VersionKey names the member of params._meta that every modern request carries
// (2026-07-28, "Request metadata").
const VersionKey = "io.modelcontextprotocol/protocolVersion"

// Era returns the era that a request belongs to.
func (e *Envelope) Era() Era {
	switch {
	case e.Version != nil:
		return Modern
	case e.Method == nil:
		return EraUnknown
	}
	switch string(e.Method) {
	case "server/discover", "subscriptions/listen", "notifications/subscriptions/acknowledged":
		return Modern
	case "initialize", "notifications/initialized", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return Legacy
	}
	return EraUnknown
}
