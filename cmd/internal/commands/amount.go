package commands

import (
	"fmt"
	"time"
)

// sizeText returns a number of bytes as text with a unit: B, kB, MB or GB.
func sizeText(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1e6-500:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	case n < 1e7-5e4:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n < 1e9-5e5:
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// agoText returns how long before now the time t was. A time in the future, of another clock, is
// "just now". The zero time is "never".
func agoText(now, t time.Time) string {
	d := now.Sub(t)
	for _, unit := range []struct {
		length, upTo time.Duration
		name         string
	}{
		{time.Minute, time.Hour, "minute"},
		{time.Hour, 24 * time.Hour, "hour"},
		{day, 14 * day, "day"},
		{7 * day, 60 * day, "week"},
		{30 * day, 365 * day, "month"},
		{365 * day, 1 << 62, "year"},
	} {
		switch n := int(d / unit.length); {
		case d >= unit.upTo:
		case n < 1:
			return "just now"
		default:
			return plural(n, unit.name) + " ago"
		}
	}
	return "never"
}

// plural returns a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

const day = 24 * time.Hour
