package catalog

import (
	"slices"
	"testing"
	"time"
)

// TestTTL: which results may be kept, and for how long.
func TestTTL(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		result     string
		d          time.Duration
		has, store bool
	}{
		{`{}`, 0, false, true}, {`{"tools":[]}`, 0, false, true},
		{`{"resultType":"complete","ttlMs":1500,"cacheScope":"private"}`, 1500 * time.Millisecond, true, true},
		{`{"ttlMs":60000}`, time.Minute, true, true}, {`{"ttlMs":1e3,"cacheScope":"public"}`, time.Second, true, true}, {`{"ttlMs":1.9,"cacheScope":"new"}`, time.Millisecond, true, true},
		{`{"ttlMs":99999999999999999999}`, MaxTTL, true, true}, {`{"ttlMs":1e999}`, MaxTTL, true, true}, {`{"ttlMs":31536000000}`, MaxTTL, true, true},
		{`{"ttlMs":0}`, 0, true, false}, {`{"ttlMs":-0}`, 0, true, false}, {`{"ttlMs":-5}`, 0, true, false}, {`{"ttlMs":-1e999}`, 0, true, false}, {`{"ttlMs":0.5}`, 0, true, false}, {`{"ttlMs":1e-999}`, 0, true, false},
		{`{"ttlMs":"1000"}`, 0, true, false}, {`{"ttlMs":null}`, 0, true, false}, {`{"ttlMs":true}`, 0, true, false}, {`{"ttlMs":{}}`, 0, true, false},
		{`{"resultType":"complete"}`, 0, false, false}, {`{"resultType":"input_required","ttlMs":1000}`, 0, false, false}, {`{"resultType":1,"ttlMs":1000}`, 0, false, false},
		{`{"ttlMs":1000,"ttlMs":0}`, 0, false, false}, {`{"ttlMs":1000,"TTLMS":0}`, 0, false, false}, {`{"ResultType":"task","ttlMs":1000}`, 0, false, false},
		{`{"tools":[{"ttlMs":5}]}`, 0, false, true}, {``, 0, false, false}, {`[]`, 0, false, false}, {`{"ttlMs":1000`, 0, false, false},
	} {
		d, has, store := TTL([]byte(row.result))
		if d != row.d || has != row.has || store != row.store {
			t.Errorf("%s: %v, %v, %v", row.result, d, has, store)
		}
	}
}

// TestKeepError: only "Method not found" is kept.
func TestKeepError(t *testing.T) {
	t.Parallel()
	kept := []string{`{"code":-32601,"message":"x"}`, `{"message":"x","code":-32601}`}
	for _, e := range append(kept, `{"code":-32603}`, `{"code":-32602}`, `{"code":"-32601"}`, `{}`, ``, `{"code":-32601,"code":-32603}`) {
		if KeepError([]byte(e)) != slices.Contains(kept, e) {
			t.Errorf("%s: %v", e, KeepError([]byte(e)))
		}
	}
}
