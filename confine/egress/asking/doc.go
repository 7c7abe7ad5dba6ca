// Package asking asks whether a host may be reached that no rule is about ([Asker]).
package asking
