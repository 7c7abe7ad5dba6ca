// Package resident keeps the memory of a process small that starts quickly and then lives for
// hours. A start touches most of the program's file, and leaves several megabytes behind that it no longer
// uses. A session that relays messages needs a third of both. [Shrink] collects what is unused, and unmaps
// the file's pages, so that only those that are used after the start come back.
//
// The pages of the file are unmapped on Linux, for 64-bit programs.
package resident

import (
	"runtime/debug"
	"time"
)

// after says when Shrink collects, counted from its call. The first time is after a start. Later ones
// are for a session whose first calls come later. A process that is older keeps what it uses.
var after = [...]time.Duration{2 * time.Second, 10 * time.Second, 100 * time.Second}

// Shrink gives memory back some times in the life of this process. The next use of a page of the file maps
// it again, which takes a microsecond as long as the page cache has it.
func Shrink() {
	time.AfterFunc(after[0], debug.FreeOSMemory)
	Unmap()
}

// Unmap only unmaps, for a process that collects nothing while it is idle: a collection leaves more behind, in
// stacks and tables of Go's runtime, than it frees of a small heap.
func Unmap() {
	for _, d := range after {
		time.AfterFunc(d+time.Second, unmap) // what ends a collection runs after it, and touches much of the file
	}
}
