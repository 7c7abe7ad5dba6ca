package policy

import (
	"reflect"
	"testing"
)

// TestSameJail: each field of a profile, and of what it consists of, makes another jail. The tool's name does not.
func TestSameJail(t *testing.T) {
	build := func() *Profile {
		p := &Profile{}
		fill(reflect.ValueOf(p).Elem(), "", func(reflect.Value, string) {})
		return p
	}
	if !build().SameJail(build()) {
		t.Fatal("two equal profiles are not the same jail")
	}
	var names []string
	fill(reflect.ValueOf(&Profile{}).Elem(), "", func(_ reflect.Value, name string) { names = append(names, name) })
	for i, name := range names {
		other, at := build(), 0
		fill(reflect.ValueOf(other).Elem(), "", func(v reflect.Value, _ string) {
			if at == i {
				v.SetZero()
			}
			at++
		})
		if same := build().SameJail(other); same != (name == ".Tool") {
			t.Errorf("without %s: the same jail: %t", name, same)
		}
	}
	if top := reflect.TypeFor[Profile]().NumField(); len(names) < top {
		t.Errorf("%d values of %d fields", len(names), top)
	}
}

// fill gives a value, and each that it consists of, one that is not zero. It calls visit for each, with its name,
// after what it consists of.
func fill(v reflect.Value, name string, visit func(v reflect.Value, name string)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), name+"."+v.Type().Field(i).Name, visit)
		}
		return // its fields are visited
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name+"[0]", visit)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name, visit)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, name, func(reflect.Value, string) {})
		fill(value, name, func(reflect.Value, string) {})
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	default:
		panic("a field of another kind: " + name)
	}
	visit(v, name)
}
