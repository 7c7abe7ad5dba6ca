// Package stamp tells whether a configuration has changed: its files since a time, or its content.
package stamp
