package cli

import (
	"testing"
	"time"
)

func TestSizeText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 999_499: "999 kB", 999_500: "1.0 MB", 9_949_999: "9.9 MB", 9_950_000: "10 MB", 17_424_704: "17 MB", 999_499_999: "999 MB", 999_500_000: "1.0 GB", 123_400_000_000: "123.4 GB"} {
		if got := SizeText(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestAgoText(t *testing.T) {
	now := time.Now()
	for d, want := range map[time.Duration]string{
		-time.Hour: "just now", 59 * time.Second: "just now", time.Minute: "1 min ago", 59 * time.Minute: "59 min ago", time.Hour: "1 h ago", 23 * time.Hour: "23 h ago",
		Day: "1 day ago", 3 * Day: "3 days ago", 13 * Day: "13 days ago", 14 * Day: "2 weeks ago", 59 * Day: "8 weeks ago", 60 * Day: "2 months ago", 364 * Day: "12 months ago", 365 * Day: "1 year ago", 800 * Day: "2 years ago",
	} {
		if got := AgoText(now, now.Add(-d)); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
