// Package change has what a change of a policy is about, and decides what may become of it, from kinds of reasons and
// who wants it. It asks nothing of the host.
// Begin at [Judge]. Every sentence about its decision is in say.go.
package change

import (
	"reflect"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Object is what a change is about. One field is set. The zero Object is about nothing.
type Object struct {
	Fs      policy.FsRule  // the path as it is named; a slash at its end asks mcp-jail to make the directory
	Net     policy.NetRule // without conditions
	Env     string
	Inbound int
	Setting Setting
	Program string // for the list of commands: no flag grants it
}

// Setting is a key of a server's table, with its value: "workspace", "home", "preset", and those of --limit, as
// "memory_mb".
type Setting struct{ Key, Value string }

// Path returns the object that is rights at a path.
func Path(path string, rights policy.Rights) Object {
	return Object{Fs: policy.FsRule{Path: path}}.Plus(rights)
}

// IsZero reports whether an object is about nothing.
func (o Object) IsZero() bool { return o.Same(Object{}) }

// Same reports whether two objects are about the same.
func (o Object) Same(other Object) bool { return reflect.DeepEqual(o, other) }

// At returns the path of an object without a slash at its end, or "".
func (o Object) At() string {
	if o.Fs.Path == "/" {
		return "/"
	}
	return strings.TrimSuffix(o.Fs.Path, "/")
}

// Makes reports whether an object is a directory that mcp-jail makes if it is missing.
func (o Object) Makes() bool { return o.At() != o.Fs.Path }

// Plus returns an object with more rights at its path.
func (o Object) Plus(more policy.Rights) Object {
	rights, r := o.Fs.Rights()|more, &o.Fs
	r.Read, r.Create, r.Update = rights.Has(policy.Read), rights.Has(policy.Create), rights.Has(policy.Update)
	r.Delete, r.Execute = rights.Has(policy.Delete), rights.Has(policy.Execute)
	return o
}

// Merge joins objects for the same path and removes repetitions. It keeps the order.
func Merge(objects []Object) (all []Object) {
next:
	for _, o := range objects {
		for i := range all {
			switch {
			case o.At() != "" && o.At() == all[i].At() && o.Fs.Deny == all[i].Fs.Deny:
				if o.Makes() {
					all[i].Fs.Path = o.Fs.Path
				}
				all[i] = all[i].Plus(o.Fs.Rights())
				continue next
			case o.Same(all[i]):
				continue next
			}
		}
		if !o.IsZero() {
			all = append(all, o)
		}
	}
	return all
}
