// Writes the feature of a release as an archive, which a devcontainer.json can name by its address:
//
//   node stage.mjs VERSION CHECKSUMS OUT
//
// It installs the programs of that release, and CHECKSUMS has the digests of their archives.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [version, checksums, out] = process.argv.slice(2);
if (!out) {
  console.error("usage: node stage.mjs VERSION CHECKSUMS OUT");
  process.exit(2);
}
const dir = mkdtempSync(join(tmpdir(), "mcp-jail-feature-"));
try {
  cpSync(join(dirname(fileURLToPath(import.meta.url)), "src", "mcp-jail"), dir, { recursive: true });
  const file = join(dir, "devcontainer-feature.json");
  const about = JSON.parse(readFileSync(file, "utf8"));
  about.version = about.options.version.default = version;
  writeFileSync(file, JSON.stringify(about, null, 2) + "\n");
  cpSync(checksums, join(dir, "checksums.txt"));
  mkdirSync(out, { recursive: true });
  execFileSync("tar", ["-C", dir, "-czf", join(out, "devcontainer-feature-mcp-jail.tgz"), "."]);
} finally {
  rmSync(dir, { recursive: true });
}
