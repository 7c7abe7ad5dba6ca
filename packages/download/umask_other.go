//go:build !unix

package download

import "io/fs"

func processUmask() fs.FileMode { return umask }
