package spec

import (
	"time"
)

const (
	SpareSockets    = 8
	InboundAtOnce   = 64
	InboundPatience = time.Second // between attempts to listen on a port that is taken, or to get a socket
	InboundEnd      = time.Second // after the jail's, for what the server has answered
)

// askSocket asks the init for one more socket. On its socket every other byte is a
// signal.
const AskSocket = 0xff
