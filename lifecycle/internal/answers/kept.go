package answers

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
)

// kept is an answer as it lies in a file: a result or an error, with the bytes that the server sent.
type kept struct {
	Result []byte        `json:"result,omitempty"`
	Error  []byte        `json:"error,omitempty"`
	Stored time.Time     `json:"stored"`        // when it was received, by the wall clock
	TTL    time.Duration `json:"ttl,omitempty"` // how long it may be used; 0 if the server has not said it

	earlier bool // it is from an earlier session, and the server has not confirmed it in this one
}

const (
	// maxAge bounds the age of an answer without a TTL.
	maxAge = 30 * 24 * time.Hour
	// maxTTL bounds the TTL of a server, and the age of an error, which is not asked for again.
	maxTTL = 24 * time.Hour
)

func newKept(result []byte, ttl time.Duration) kept {
	return kept{Result: bytes.Clone(result), Stored: time.Now().Round(0), TTL: ttl}
}

// isFresh reports whether the answer may still be used. An answer from the future may not: the clock was set
// back, and the age is unknown.
func (k kept) isFresh(now time.Time) bool {
	limit := maxAge
	if k.TTL > 0 {
		limit = k.TTL
	}
	age := now.Sub(k.Stored)
	return age >= 0 && age < limit
}

// isValid reports whether a file can hold this answer. A line end would end the message to the client.
func (k kept) isValid() bool {
	object := k.Result
	if len(k.Error) > 0 {
		object = k.Error
	}
	one := (len(k.Result) > 0) != (len(k.Error) > 0)
	return one && object[0] == '{' && json.Valid(object) && bytes.IndexByte(object, '\n') < 0 && k.TTL >= 0 && k.TTL <= maxTTL
}

func (k kept) size() int { return len(k.Result) + len(k.Error) }

// shown returns the result for the client. The client counts a ttlMs from when it gets the result, so ttlMs is
// the time that is left; it is 0 for an answer of an earlier session, so that the client asks again.
func (k kept) shown(now time.Time) []byte {
	if k.TTL == 0 {
		return k.Result
	}
	left := int64(0)
	if !k.earlier {
		left = max(k.TTL-now.Sub(k.Stored), 0).Milliseconds()
	}
	return session.ReplaceMember(k.Result, "ttlMs", func([]byte) []byte { return strconv.AppendInt(nil, left, 10) })
}

// lifetime returns for how long a result may be used (MCP 2026-07-28, "Caching"); 0 if the server does not say
// it, as none does in the legacy era. keep is false for results that are not kept: with a ttlMs below 1, modern
// ones without a ttlMs, which means 0, those that ask for input, and parts of a list, since another process may
// not know the cursor. A cacheScope changes nothing: the files are those of one user, and each of their clients
// has its own.
func lifetime(result []byte) (ttl time.Duration, keep bool) {
	modern, timed := false, false
	keep = true
	session.EachMember(result, func(name string, _ int64, value []byte) {
		switch {
		case name == "ttlMs" && !timed:
			timed = true
			ttl = milliseconds(string(value))
			keep = keep && ttl > 0
		case name == "resultType" && !modern:
			modern = true
			keep = keep && string(value) == `"complete"`
		case name == "nextCursor", strings.EqualFold(name, "ttlMs"), strings.EqualFold(name, "resultType"):
			keep = false // the last two are there twice, or for readers that ignore the case of names
		}
	})
	return ttl, keep && (timed || !modern)
}

// milliseconds returns the duration of a JSON number, or 0 for anything else and for numbers below 1.
func milliseconds(number string) time.Duration {
	ms, err := strconv.ParseFloat(number, 64) // the decoder has excluded hexadecimal numbers and Inf
	switch {
	case err != nil && ms == 0, !(ms >= 1):
		return 0
	case ms > float64(maxTTL/time.Millisecond):
		return maxTTL
	}
	return time.Duration(ms) * time.Millisecond
}
