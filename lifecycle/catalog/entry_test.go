//go:build unix

package catalog

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestFresh: the age at which an answer expires.
func TestFresh(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		a    Answer
		age  time.Duration
		want bool
	}{
		{Answer{}, 0, true}, {Answer{}, MaxAge - 1, true}, {Answer{}, MaxAge, false}, {Answer{}, -1, false},
		{Answer{TTL: time.Second, HasTTL: true}, time.Second - 1, true}, {Answer{TTL: time.Second, HasTTL: true}, time.Second, false}, {Answer{TTL: time.Second, HasTTL: true}, -time.Hour, false},
		{Answer{HasTTL: true}, 0, false}, {Answer{TTL: -time.Second, HasTTL: true}, 0, false}, {Answer{TTL: 1e18, HasTTL: true}, MaxTTL, false},
	} {
		row.a.Stored = start
		if got := row.a.Fresh(start.Add(row.age)); got != row.want {
			t.Errorf("%+v after %v: %v", row.a, row.age, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	text, err := encode("s", aKey, anEntry(start))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":1,"server":"s","key":"` + aKey + `","answers":{"m":{"error":"e30=","stored":"2026-08-01T12:00:00Z","ttl_ms":1}}}`))
	f.Add([]byte(`{"format":1,"server":"s","key":"` + aKey + `","answers":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := decode("s", aKey, text)
		if err != nil {
			return
		}
		again, err := encode("s", aKey, e)
		if err != nil && !errors.Is(err, errTooLarge) && !strings.Contains(err.Error(), "year") {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if err != nil {
			return
		}
		if back, err := decode("s", aKey, again); err != nil || !reflect.DeepEqual(back, e) {
			t.Fatalf("%+v became %+v, %v", e, back, err)
		}
	})
}
