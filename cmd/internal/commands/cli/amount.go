package cli

import (
	"fmt"
	"time"
)

// SizeText returns a number of bytes as text with a unit: B, kB, MB or GB.
func SizeText(n int64) string {
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

// AgoText returns how long before now the time t was. A time in the future, of another clock, is
// "just now". The zero time is "never".
func AgoText(now, t time.Time) string {
	d := now.Sub(t)
	for _, unit := range []struct {
		length, upTo time.Duration
		name         string
	}{
		{time.Minute, time.Hour, "min"},
		{time.Hour, 24 * time.Hour, "h"},
		{Day, 14 * Day, "day"},
		{7 * Day, 60 * Day, "week"},
		{30 * Day, 365 * Day, "month"},
		{365 * Day, 1 << 62, "year"},
	} {
		switch n := int(d / unit.length); {
		case d >= unit.upTo:
		case n < 1:
			return "just now"
		default:
			if unit.length < Day {
				return fmt.Sprintf("%d %s ago", n, unit.name)
			}
			return Plural(n, unit.name) + " ago"
		}
	}
	return "never"
}

// DayText returns when something was, to the minute: "today 14:02", "yesterday 09:30", "2026-11-20 18:00".
func DayText(now, t time.Time) string {
	now, t = now.Local(), t.Local()
	for days, name := range []string{"today", "yesterday"} {
		if t.Format(time.DateOnly) == now.AddDate(0, 0, -days).Format(time.DateOnly) {
			return name + t.Format(" 15:04")
		}
	}
	return t.Format("2006-01-02 15:04")
}

// Plural returns a number of things.
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

const Day = 24 * time.Hour
