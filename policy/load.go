package policy

// SystemConfigDir holds the configuration of the administrator.
const SystemConfigDir = "/etc/mcp-jail"
