//go:build darwin || (linux && seatbelt)

package gateway

// startsTLS is set where the face of package confine calls StartTLS. A plan that counted on
// mcp-jail-tls elsewhere would let requests pass that its rules refuse.
const startsTLS = false
