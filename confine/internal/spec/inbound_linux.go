package spec

import (
	"time"
)

// Numbers and times of the connections that lead into a jail (policy key inbound).
const (
	InboundSockets = 8           // the sockets that the launcher holds in advance
	MaxInbound     = 64          // the connections at a time
	InboundTimeout = time.Second // between attempts to get a socket
	InboundEnd     = time.Second // to deliver what the server sent before the jail ended
)

// Bytes on the socket to the supervisor. Every other one is a signal for the program.
const (
	RequestSocket = 0xff // for one more inbound socket
	RequestBound  = 0xfc // an answer to EventBind: the oldest bind that waits goes on
	RequestBegin  = 0xfe // to keep what the server has open for undo: a call begins
	RequestEnd    = 0xfd // to note what the server has left: no call runs any more
)
