// Package confine starts a process that is limited to a policy.Profile, and
// says what is and what is not enforced.
package confine
