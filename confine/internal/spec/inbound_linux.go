package spec

import (
	"time"
)

const (
	InboundSockets = 8
	MaxInbound     = 64
	InboundTimeout = time.Second // between attempts to listen on a port that is taken, or to get a socket
	InboundEnd     = time.Second // after the jail's, for what the server has answered
)

// askSocket asks the init for one more socket. On its socket every other byte is a
// signal.
const RequestSocket = 0xff
