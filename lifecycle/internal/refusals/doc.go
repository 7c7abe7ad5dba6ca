// Package refusals keeps what of the refusals of a session is told to its client: [Seen] has the denials of
// a process that no diagnosis has told, [Asking] whether the client has asked for log messages, [Log]
// which ones it was sent, and [Queue] those that are about to be sent.
package refusals
