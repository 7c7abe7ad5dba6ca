package egress

import "sync/atomic"

// byteCount counts the bytes that are sent to hosts.
type byteCount struct {
	limit       int64 // 0 means no limit
	connections int   // open at once
	sent        atomic.Int64
}

// add counts bytes that are sent to a host. It returns false above the limit.
func (b *byteCount) add(n int64) bool {
	if b.limit == 0 {
		return true
	}
	return b.sent.Add(n) <= b.limit
}

// A connection may hold back the report of up to maxReportStep sent bytes. All connections
// together may hold back an eighth of the session's limit. So a session makes at most eight
// reports for each possible connection, or one report for each maxReportStep bytes.
const (
	maxReportStep  = 256 << 10
	uncountedShare = 8
)

func (b *byteCount) reportStep() int64 {
	if b.limit == 0 {
		return 0
	}
	return min(max(b.limit/uncountedShare/int64(b.connections), 1), maxReportStep)
}

func (b *byteCount) isSpent() bool {
	return b.limit != 0 && b.sent.Load() >= b.limit
}
