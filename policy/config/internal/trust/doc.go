// Package trust keeps which project files the user accepted, by path and content.
package trust
