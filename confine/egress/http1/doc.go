// Package http1 reads the heads of HTTP/1 requests (RFC 9112) strictly: where servers differ about a
// request, it reads none. So a host that it reads is the host that each server reads. It also names
// the fields that must not be forwarded in another section or spelling.
package http1
