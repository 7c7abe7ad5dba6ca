package undo

import "github.com/mcp-jail/mcp-jail/undo/internal/keeper"

// Keeper records what is at paths before they change.
type Keeper = keeper.Keeper
