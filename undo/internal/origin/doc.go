// Package origin finds out who left what stands at a path: a session, a later one, an undo, or others.
package origin
