// Package redact keeps secrets out of what people read: a Redactor replaces the values of secret
// variables, a Tail keeps the end of a stderr without them, and a StderrFilter copies a stderr so.
package redact
