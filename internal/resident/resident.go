// Package resident keeps the memory of a process small that starts quickly and then lives for
// hours. A start touches most of the program's file: code, constants and tables. A session that
// relays messages needs a third of that. [Shrink] unmaps the file's pages, so that only those that
// are used after the start come back.
//
// It works on Linux, for 64-bit programs. On other systems Shrink does nothing.
package resident

import "time"

// after says when Shrink unmaps, counted from its call. The first time is after a start. Later ones
// are for a session whose first calls come later. A process that is older keeps what it uses.
var after = [...]time.Duration{2 * time.Second, 10 * time.Second, 100 * time.Second}

// Shrink unmaps the pages of the program's file some times in the life of this process. The next
// use of a page maps it again, which takes a microsecond as long as the page cache has it.
func Shrink() {
	for _, d := range after {
		time.AfterFunc(d, unmap)
	}
}
