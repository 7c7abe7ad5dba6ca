package catalog

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// MaxTTL bounds what a server may ask for: one that says "a year" is asked again
// the next day.
const MaxTTL = 24 * time.Hour

// TTL reads for how long a result may be used (MCP 2026-07-28, "Caching"): has
// tells that the server said so, store that the result may be kept at all. Not
// kept are results with a ttlMs of 0, less, or none that is a number; those that
// ask for input; and modern ones (they carry resultType) without a ttlMs, which
// stands for 0. What has no ttlMs otherwise is of the legacy era: nobody said how
// long it holds, so it should be used and verified. cacheScope forbids nothing
// here: the catalogue is one user's, and its keys tell clients apart.
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
			return 0, false, false // some readers take it for that
		}
	}
	return d, has, d > 0 || !has && !modern
}

// milliseconds reads a JSON number, 0 for anything else and for less than one.
func milliseconds(number string) time.Duration {
	ms, err := strconv.ParseFloat(number, 64) // no hexadecimal or Inf: it is JSON
	switch {
	case err != nil && ms == 0, !(ms >= 1):
		return 0
	case ms > float64(MaxTTL/time.Millisecond):
		return MaxTTL
	}
	return time.Duration(ms) * time.Millisecond
}

// KeepError tells whether an error answer is worth keeping: that there is no such
// method is a property of the server. Other errors may be gone the next time.
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
