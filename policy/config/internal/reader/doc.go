// Package reader reads the values of a configuration's tables, and says of each that is wrong what it
// must be. Package config has the tables.
package reader
