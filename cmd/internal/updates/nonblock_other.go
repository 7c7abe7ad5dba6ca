//go:build !unix

package updates

const nonblock = 0
