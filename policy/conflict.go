package policy

import "path"

// ConflictError is a pair of rules of which one has no effect that its author can have meant, or that
// no kernel mechanism can enforce together (docs/policy.md "Filesystem rules").
type ConflictError struct{ Reason string } // which names both, as file:line: path = "..."

func (e *ConflictError) Error() string { return e.Reason }

// unenforceable returns the part of union minus rights that no mount can take away. union is the sum
// of what all entries around a path grant: Landlock's rules reach through mount points. A mount can hide
// a path, make it read-only, or keep programs from starting.
func unenforceable(union, rights Rights) Rights {
	lost := union &^ rights
	if rights == 0 {
		return 0 // a mask
	}
	var bad Rights
	if lost.Has(Read) {
		bad |= Read // there is no write-only mount
	}
	if w := lost & Write; w != 0 && rights&Write != 0 {
		bad |= w // read-only is all of them or none
	}
	return bad // a lost Execute is a mount without exec
}

// FindConflict returns a *[ConflictError] for the first entry that cannot be enforced below the wider
// ones, or nil. Such is a rule inside a sensitive path or a protected name that grants only some of what
// a rule around that name grants.
func FindConflict(entries []Entry) error {
	at := make(map[string]*Entry, len(entries))
	for i := range entries {
		at[entries[i].Path] = &entries[i]
	}
	for _, e := range entries {
		var union Rights
		var wide string
		for p := e.Path; p != path.Dir(p); {
			p = path.Dir(p)
			if w := at[p]; w != nil {
				if bad := unenforceable(w.Rights, e.Rights); bad != 0 && wide == "" {
					wide = w.Rule + " (" + w.Rights.String() + ")"
				}
				union |= w.Rights
			}
		}
		if bad := unenforceable(union, e.Rights); bad != 0 {
			return &ConflictError{e.Rule + " (" + e.Rights.String() + ") cannot be enforced inside " + wide + ": no rule from above gives rights at such a name, " +
				"and there a mount can only hide a path, make it read-only or leave it as it is. Grant " + bad.String() + " there too, or nothing of create, update and delete."}
		}
	}
	return nil
}
