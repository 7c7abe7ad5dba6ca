package policy

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// TestKeyCoversProfile tests that each field of a profile that decides about a jail changes the
// profile's key.
func TestKeyCoversProfile(t *testing.T) {
	apart := map[string]string{
		"Parts":       "what diagnoses take for the program; it follows from program and argv",
		"LinksAstray": "follows from the disk: which opens are recorded, not which are allowed",
		"InPath":      "what a start compares; it follows from program, argv and programs",
		"Reach":       "what others may write, which is part of no output",
	}
	empty := (&Profile{}).Key()
	fields := reflect.TypeFor[Profile]()
	for i := range fields.NumField() {
		f := fields.Field(i)
		p := &Profile{}
		v := reflect.ValueOf(p).Elem().Field(i)
		switch v.Kind() {
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int64:
			v.SetInt(int64(time.Second))
		case reflect.Struct:
			if first := v.Field(0); first.Kind() == reflect.String {
				first.SetString("x")
			} else {
				first.SetInt(1)
			}
		}
		if changed := p.Key() != empty; changed == (apart[f.Name] != "") {
			t.Errorf("the field %s changes the key: %t", f.Name, changed)
		}
	}
}

// TestRightsAreKnown: what a newer version wrote is not read as fewer rights.
func TestRightsAreKnown(t *testing.T) {
	var r Rights
	if err := json.Unmarshal([]byte(`["read","execute"]`), &r); err != nil || r != Read|Execute {
		t.Errorf("control: %s, %v", r, err)
	}
	if err := json.Unmarshal([]byte(`["read","rename"]`), &r); err == nil {
		t.Errorf("an unknown right: %s", r)
	}
}
