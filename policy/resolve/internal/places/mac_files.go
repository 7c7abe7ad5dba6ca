package places

const (
	support = "~/Library/Application Support/"
	caches  = "~/Library/Caches/"
)

// macSensitive are the sensitive paths of macOS. Containers hold the data of each application of the App
// Store, and Group Containers what such applications share: mail, notes, messengers, passwords. iCloud
// (~/Library/Mobile Documents) is not among them: it has documents, as ~/Documents does.
var macSensitive = []string{
	// What the system and its own applications keep.
	"~/Library/Keychains", "~/Library/Cookies", "~/Library/HTTPStorages", "~/Library/WebKit", "~/Library/Accounts", "~/Library/IdentityServices", "~/Library/Passes", "~/Library/Sharing",
	"~/Library/Containers", "~/Library/Group Containers", "~/Library/Daemon Containers", "~/Library/Safari", "~/Library/Mail", "~/Library/Mail Downloads", "~/Library/Messages", "~/Library/Calendars", "~/Library/Reminders",
	"~/Library/Biome", "~/Library/Suggestions", "~/Library/IntelligencePlatform", "~/Library/PersonalizationPortrait", "~/Library/Metadata/CoreSpotlight", "~/Library/HomeKit", "~/Library/Health", "~/Library/Finance",
	support + "com.apple.TCC", support + "AddressBook", support + "CallHistoryDB", support + "CallHistoryTransactions", support + "com.apple.sharedfilelist", support + "Knowledge", support + "MobileSync", support + "CloudDocs", support + "iCloud", support + "FaceTime",
	"/Library/Keychains", "/Library/Application Support/com.apple.TCC",
	// Browser profiles.
	support + "Google/Chrome*", support + "Chromium", support + "BraveSoftware", support + "Microsoft Edge*", support + "Firefox", support + "Vivaldi*", support + "com.operasoftware.Opera*", support + "Arc", support + "Dia", support + "Comet", support + "Orion*",
	support + "librewolf", support + "Waterfox", support + "zen", support + "TorBrowser-Data", support + "Yandex", support + "DuckDuckGo", "~/Library/Thunderbird", support + "Thunderbird",
	// Passwords and messengers.
	support + "1Password*", support + "Bitwarden", support + "KeePassXC", support + "Enpass", support + "LastPass", support + "Dashlane", support + "Proton*", support + "Signal", support + "Telegram*", support + "WhatsApp*", support + "Slack", support + "discord*", support + "Microsoft Teams*", support + "Element",
	// Logins of assistants, editors and tools. Their configurations and extensions are among what decides.
	support + "Claude/Cookies*", support + "Claude/Local Storage", support + "Claude/IndexedDB", support + "Claude/Session Storage", support + "Claude/config.json", support + "com.openai.chat", support + "ChatGPT", support + "Codex",
	support + "Code/User/globalStorage", support + "Code - Insiders/User/globalStorage", support + "VSCodium/User/globalStorage", support + "Cursor/User/globalStorage", support + "Windsurf/User/globalStorage", support + "Antigravity/User/globalStorage",
	support + "Code/Cookies*", support + "Cursor/Cookies*", support + "Windsurf/Cookies*",
	support + "Claude/claude_desktop_config.json", support + "jp/config.toml", support + "Code/User/mcp.json", support + "Code/User/profiles", support + "Code - Insiders/User/mcp.json", support + "Code - Insiders/User/profiles", support + "VSCodium/User/mcp.json", support + "VSCodium/User/profiles",
	support + "ngrok", support + "doctl", support + "com.vercel.cli", support + "netlify", "~/Library/Preferences/netlify", support + "pypoetry/auth.toml", "~/Library/Preferences/pypoetry/auth.toml", support + "Postman", support + "Insomnia",
}

// macFiles returns what decides on macOS alone, beside the dotfiles of every system.
func macFiles() []DecidingGroup {
	return []DecidingGroup{{"macOS, editors and shells run it", []string{
		"~/Library/LaunchAgents", "/Library/LaunchAgents", "/Library/LaunchDaemons", "/Library/StartupItems", "/Library/PrivilegedHelperTools", "/private/etc/pam.d", "/private/etc/paths.d", "/private/etc/periodic",
		"~/Library/Services", "~/Library/Scripts", "~/Library/Workflows", "~/Library/Automator", "~/Library/Application Scripts", "~/Library/Shortcuts", "~/Library/Input Methods", "~/Library/Keyboard Layouts", "~/Library/QuickLook", "~/Library/Spotlight",
		"~/Library/PreferencePanes", "~/Library/Screen Savers", "~/Library/Internet Plug-Ins", "~/Library/Audio/Plug-Ins", "~/Library/Components", "~/Library/ColorPickers", "~/Library/Contextual Menu Items", "~/Library/Frameworks", "~/Library/Java/Extensions", "~/Library/DirectoryServices", "~/Library/SystemExtensions",
		"~/Library/Preferences", // what the user's programs obey, and what opens a file
		"~/Library/Saved Application State",
		"~/Library/pnpm", "~/.hammerspoon", "~/.phoenix.js", "~/.config/karabiner", "~/.config/yabai", "~/.yabairc", "~/.config/skhd", "~/.skhdrc", "~/.config/aerospace", "~/.aerospace.toml", "~/.config/sketchybar", "~/.config/borders",
		support + "Code/User", support + "Code - Insiders/User", support + "VSCodium/User", support + "Cursor/User", support + "Windsurf/User", support + "Antigravity/User", support + "Trae/User", support + "Kiro/User", support + "Zed", support + "JetBrains", support + "Sublime Text", support + "iTerm2", support + "nushell", support + "xbar", support + "SwiftBar",
		support + "com.apple.backgroundtaskmanagementagent", support + "Alfred", support + "Keyboard Maestro", support + "BetterTouchTool", support + "com.raycast.macos", support + "Mozilla", support + "Claude", support + "lazygit", support + "go", support + "com.mitchellh.ghostty", support + "kitty",
		"~/Library/Developer/Xcode/UserData", "~/Library/Developer/Toolchains", "~/Library/Developer/Xcode/Plug-ins", "~/Library/org.swift.swiftpm", "~/Library/Jupyter", "~/Library/Python", "~/Library/Perl", "~/Library/Ruby", "~/Library/R", "~/Library/Haskell", "~/Library/Preferences/pypoetry",
	}}, {ProgramsRisk, []string{
		"/Applications", "/opt/homebrew", "/opt/local", caches + "fnm_multishells", support + "pypoetry", support + "pipx", support + "virtualenv", support + "uv", support + "fnm", support + "cursor-agent",
	}}, {PackagesRisk, []string{
		caches + "pip", caches + "uv", caches + "pipx", caches + "Yarn", caches + "pnpm", caches + "deno", caches + "go-build", caches + "ms-playwright", caches + "Homebrew", caches + "pypoetry", caches + "node-gyp", caches + "electron", caches + "puppeteer", caches + "Cypress", caches + "Coursier", caches + "CocoaPods", caches + "org.swift.swiftpm", caches + "bun",
	}}}
}
