// Package reported reads what a supervisor reports about its jail, and keeps a bounded record of it.
package reported
