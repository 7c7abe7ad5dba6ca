// A Python for Windows with its pip, which runs under Wine 8. Nothing imports it: the tests unpack its files.
module github.com/mcp-jail/mcp-jail/testdata/wine/python

go 1.26.0

require github.com/kluctl/go-embed-python v0.0.0-3.11.11-20241219-1
