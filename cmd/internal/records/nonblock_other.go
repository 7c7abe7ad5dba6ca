//go:build !unix

package records

const nonblock = 0
