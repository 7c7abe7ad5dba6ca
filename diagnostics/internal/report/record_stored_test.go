package report

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestStored compares what is stored of records with package json's own form of them: without
// members, and with each of them.
func TestStored(t *testing.T) {
	full := Record{Time: time.Unix(1, 0).UTC()}
	inner := Record{Server: "inner", Denials: []policy.Denial{{}}}
	for i := range reflect.TypeFor[Record]().NumField() {
		f := reflect.ValueOf(&full).Elem().Field(i)
		switch f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int:
			f.SetInt(3)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 2, 2))
		}
	}
	full.Newer, full.Failed = &LostRecord{Cause: "x"}, &inner
	for i := range reflect.TypeFor[Record]().NumField() {
		if f := reflect.TypeFor[Record]().Field(i); reflect.ValueOf(full).Field(i).IsZero() {
			t.Errorf("%s has no value in this test", f.Name)
		}
	}
	for _, r := range []Record{{}, full, inner} {
		want, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.MarshalIndent(r.stored(), "", "  "); err != nil || string(got) != string(want) {
			t.Errorf("stored: %s, %v\nwant %s", got, err, want)
		}
	}
}
