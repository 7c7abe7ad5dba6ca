//go:build !seatbelt

package gateway

// startsTLS is set where the face of package confine calls StartTLS.
const startsTLS = true
