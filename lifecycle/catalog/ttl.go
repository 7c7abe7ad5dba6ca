package catalog

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// MaxTTL bounds the TTL that a server may set. A server that sets a year is asked again
// the next day.
const MaxTTL = 24 * time.Hour

// TTL returns for how long a result may be used (MCP 2026-07-28, "Caching"). has reports whether
// the server has set a TTL, store whether the result may be kept at all. These results are not
// kept: those with a ttlMs that is less than 1 or no number, those that ask for input, modern
// results (with a resultType) without a ttlMs, which means 0, and those whose members readers
// could take for different ones. A result of the legacy era has no ttlMs; it may be used and has
// to be revalidated. cacheScope needs no attention: the catalog belongs to one user, and its keys
// distinguish clients.
func TTL(result []byte) (d time.Duration, has, store bool) {
	members, err := membersOf(result)
	if err != nil {
		return 0, false, false
	}
	modern := false
	for _, m := range members {
		switch {
		case m.name == "resultType":
			var kind string
			if json.Unmarshal(m.value, &kind) != nil || kind != "complete" {
				return 0, false, false
			}
			modern = true
		case m.name == "ttlMs":
			has = true
			d = milliseconds(string(m.value))
		case strings.EqualFold(m.name, "ttlMs"), strings.EqualFold(m.name, "resultType"):
			return 0, false, false // some readers ignore the case of names
		}
	}
	return d, has, d > 0 || !has && !modern
}

// milliseconds returns the duration of a JSON number, or 0 for anything else and for
// numbers below 1.
func milliseconds(number string) time.Duration {
	ms, err := strconv.ParseFloat(number, 64) // the JSON decoder has excluded hexadecimal numbers and Inf
	switch {
	case err != nil && ms == 0, !(ms >= 1):
		return 0
	case ms > float64(MaxTTL/time.Millisecond):
		return MaxTTL
	}
	return time.Duration(ms) * time.Millisecond
}

// KeepError reports whether an error answer may be kept. "Method not found" is a property
// of the server; other errors may be gone the next time.
func KeepError(err []byte) bool {
	members, bad := membersOf(err)
	if bad != nil {
		return false
	}
	for _, m := range members {
		if m.name == "code" {
			return string(m.value) == "-32601"
		}
	}
	return false
}
