// Package grants has the additions to a policy that a diagnosis proposes, and a Writer that writes
// them as lines of a configuration, as flags, or as the new command line of a client.
package grants
