package install

import (
	"context"

	"github.com/mcp-jail/mcp-jail/packages/python"
)

func (p *pythonFetch) fromSource(ctx context.Context, failed error) ([]python.Package, error) {
	return nil, failed
}
