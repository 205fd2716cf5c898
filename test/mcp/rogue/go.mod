module emergent.dev/mcp-rogue

go 1.24.0
