module github.com/mcp-jail/mcp-jail

go 1.26
