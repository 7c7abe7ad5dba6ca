// Reads files with the parsers that MCP clients have, and prints what a client would start.
// Each line on stdin is an object with format and text. The answer is a line with an object: for
// each parser, an error, or a list of name, command line and variables.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const require = createRequire(process.argv[2] + '/package.json')
const jsonc = require('jsonc-parser')
const commentJSON = require('comment-json')
const json5 = require('json5')
const yaml = require('yaml')
const jsYAML = require('js-yaml')
const jsYAML4 = require('js-yaml-4')
const smol = require('smol-toml')

const tolerant = text => jsonc.parse(text, [], { allowTrailingComma: true })

// strict throws where a client would report an error.
const strict = text => {
  const errors = []
  const value = jsonc.parse(text, errors, { allowTrailingComma: true })
  if (errors.length > 0) throw new Error(jsonc.printParseErrorCode(errors[0].error))
  return value
}

// studio follows the scanner of Visual Studio Code, for which U+2028 and U+2029 end a line as
// well, and more characters are blanks.
const studio = text => {
  let out = ''
  for (let i = 0; i < text.length;) {
    if (text[i] === '"') {
      let j = i + 1
      while (j < text.length && text[j] !== '"' && !/[\r\n]/.test(text[j])) j += text[j] === '\\' ? 2 : 1
      out += text.slice(i, j + 1)
      i = j + 1
      continue
    }
    out += /[\u2028\u2029]/.test(text[i]) ? '\n' : /[\u00a0\ufeff\u000b\f\u1680\u2000-\u200b\u202f\u205f\u3000]/.test(text[i]) ? ' ' : text[i]
    i++
  }
  return tolerant(out)
}

const readers = {
  json: { strict, tolerant, studio, 'comment-json': t => commentJSON.parse(t), json5: t => json5.parse(t), JSON: t => JSON.parse(t) },
  yaml: { yaml: t => yaml.parse(t), 'yaml 1.1': t => yaml.parse(t, { version: '1.1' }), 'yaml merging': t => yaml.parse(t, { merge: true }), 'js-yaml': t => jsYAML.load(t), 'js-yaml 4': t => jsYAML4.load(t) },
  toml: { 'smol-toml': t => smol.parse(t) },
}

// started takes servers from a value as the programs do: by the names of their members, and so
// through prototypes too.
const started = root => {
  const out = []
  const table = root?.servers
  if (typeof table !== 'object' || table === null) return out
  for (const name of Object.keys(table)) {
    const entry = table[name]
    const command = entry?.command
    if (typeof command !== 'string') continue
    const args = Array.isArray(entry.args) ? entry.args.map(String) : []
    const env = {}
    if (typeof entry.env === 'object' && entry.env !== null && !Array.isArray(entry.env)) for (const key in entry.env) env[key] = String(entry.env[key])
    out.push({ name, words: [command, ...args], env })
  }
  return out
}

for await (const line of createInterface({ input: process.stdin })) {
  const { format, text } = JSON.parse(line)
  const answer = {}
  for (const [name, read] of Object.entries(readers[format])) {
    try {
      answer[name] = { servers: started(read(text.replace(/^\ufeff/, ''))) }
    } catch (e) {
      answer[name] = { error: String(e.message ?? e).slice(0, 200) }
    }
  }
  process.stdout.write(JSON.stringify(answer) + '\n')
}
