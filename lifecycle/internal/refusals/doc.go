// Package refusals keeps what of the refusals of a session is told, and to whom: [Fresh] has those that
// are to be written down, [Seen] the denials of a process that no diagnosis has told, [Asking] whether
// the client has asked for log messages, [Log] which ones it was sent, and [Queue] those that are
// about to be sent.
package refusals
