// Package report has what a diagnosis is and how it is written: the types of diagnoses, hints and
// session records, the error frame and the block of an answer, and the texts for stderr and
// `mcp-jail why`. It judges nothing.
package report
