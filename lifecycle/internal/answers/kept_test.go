package answers

import (
	"strings"
	"testing"
	"time"
)

// TestLifetime: which results may be kept, and for how long.
func TestLifetime(t *testing.T) {
	const unlimited = -1 // it is kept, and has no ttlMs; 0: it is not kept
	for _, row := range []struct {
		result string
		want   time.Duration
	}{
		{`{}`, unlimited}, {`{"tools":[]}`, unlimited}, {`{"tools":[{"ttlMs":5,"nextCursor":"a"}]}`, unlimited},
		{`{"resultType":"complete","ttlMs":1500,"cacheScope":"private"}`, 1500 * time.Millisecond},
		{`{"ttlMs":1e3,"cacheScope":"public"}`, time.Second}, {`{"ttlMs":1.9}`, time.Millisecond},
		{`{"ttlMs":31536000000}`, maxTTL}, {`{"ttlMs":1e999}`, maxTTL},
		{`{"ttlMs":0}`, 0}, {`{"ttlMs":-5}`, 0}, {`{"ttlMs":-1e999}`, 0}, {`{"ttlMs":0.5}`, 0}, {`{"ttlMs":1e-999}`, 0},
		{`{"ttlMs":"1000"}`, 0}, {`{"ttlMs":null}`, 0}, {`{"ttlMs":{}}`, 0},
		{`{"resultType":"complete"}`, 0}, {`{"resultType":"input_required","ttlMs":1000}`, 0}, {`{"resultType":1,"ttlMs":1000}`, 0},
		{`{"ttlMs":1000,"ttlMs":0}`, 0}, {`{"ttlMs":1000,"TTLMS":0}`, 0}, {`{"ResultType":"task","ttlMs":1000}`, 0},
		{`{"tools":[],"nextCursor":"a"}`, 0},
	} {
		ttl, keep := lifetime([]byte(row.result))
		if keep != (row.want != 0) || keep && ttl != max(row.want, 0) {
			t.Errorf("%s: %v, kept %t", row.result, ttl, keep)
		}
	}
}

// TestFresh: how long an answer may be used, and what the client is told of it.
func TestFresh(t *testing.T) {
	now := time.Now()
	for _, row := range []struct {
		age, ttl time.Duration
		earlier  bool
		fresh    bool
		shown    string
	}{
		{0, 0, false, true, "x"},
		{maxAge - time.Hour, 0, true, true, "x"},
		{maxAge, 0, true, false, ""},
		{-time.Minute, 0, true, false, ""}, // the clock was set back
		{time.Second, time.Minute, false, true, "59000"},
		{time.Second, time.Minute, true, true, "0"},
		{time.Minute, time.Minute, false, false, ""},
	} {
		k := kept{Result: []byte(`{"ttlMs":"x"}`), Stored: now.Add(-row.age), TTL: row.ttl, earlier: row.earlier}
		if k.isFresh(now) != row.fresh {
			t.Errorf("%+v: fresh %t", row, !row.fresh)
		}
		if shown := string(k.shown(now)); row.fresh && !strings.Contains(shown, row.shown) {
			t.Errorf("%+v: the client gets %s", row, shown)
		}
	}
}

// TestRequestOf: which requests have an answer that may be kept.
func TestRequestOf(t *testing.T) {
	for _, row := range []struct {
		method, params string
		want           bool
	}{
		{"initialize", `{"capabilities":{}}`, true}, {"server/discover", `{"_meta":{}}`, true}, {"tools/list", ``, true},
		{"tools/list", `{}`, true}, {"tools/list", ` {"_meta":{"progressToken":1}} `, true},
		{"tools/list", `{"cursor":"c"}`, false}, {"tools/list", `{"_meta":{},"requestState":"x"}`, false},
		{"tools/list", `{"Cursor":"c"}`, false}, {"tools/list", `["c"]`, false},
		{"tools/call", `{}`, false}, {"resources/read", `{}`, false}, {"", ``, false},
	} {
		if got := RequestOf(row.method, []byte(strings.TrimSpace(row.params))); (got != nil) != row.want {
			t.Errorf("%s %s: kept %t", row.method, row.params, !row.want)
		}
	}
}
