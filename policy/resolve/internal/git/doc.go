// Package git names the files that git runs or trusts: parts of git directories, and what git's
// configurations name. It reads configurations as git does, with their includes.
package git
