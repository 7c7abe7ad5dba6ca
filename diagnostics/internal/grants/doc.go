// Package grants has the additions to a policy that a diagnosis proposes, how they are shown, and their words for
// mcp-jail grant.
package grants
