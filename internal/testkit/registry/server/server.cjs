#!/usr/bin/env node
// An MCP server on stdio without dependencies. definitions.json beside it says who it is.
'use strict'
const fs = require('node:fs')
const path = require('node:path')
const readline = require('node:readline')

const definitions = JSON.parse(fs.readFileSync(path.join(__dirname, 'definitions.json'), 'utf8'))
const own = JSON.parse(fs.readFileSync(path.join(__dirname, 'package.json'), 'utf8'))
// A missing dependency ends the server, as it does real ones.
const dependencies = {}
for (const name of Object.keys(own.dependencies || {})) {
  dependencies[name] = require(`${name}/package.json`).version
}
if (definitions.attackAtStart) require('./attack.cjs')

const tools = {
  echo: args => String(args.text),
  env: args => args.name ? String(process.env[args.name]) : JSON.stringify(process.env),
  read: args => fs.readFileSync(args.path, 'utf8'),
  write: args => {
    const file = path.join(__dirname, args.name)
    fs.writeFileSync(file, args.text)
    return file
  },
  about: () => JSON.stringify({
    name: definitions.name, version: definitions.version, file: __filename, dependencies,
    interpreter: process.execPath, runtime: process.versions.node, args: process.argv.slice(2), cwd: process.cwd()
  })
}

function call (params) {
  const tool = Object.hasOwn(tools, params.name) && tools[params.name]
  try {
    if (!tool) throw new Error(`no such tool: ${params.name}`)
    return { content: [{ type: 'text', text: tool(params.arguments || {}) }] }
  } catch (e) {
    return { isError: true, content: [{ type: 'text', text: e.message }] }
  }
}

function answer (method, params) {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params.protocolVersion || '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: definitions.name, version: definitions.version }
      }
    case 'ping': return {}
    case 'tools/list': return { tools: definitions.tools }
    case 'tools/call': return call(params)
  }
}

readline.createInterface({ input: process.stdin }).on('line', line => {
  if (!line.trim()) return
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const result = answer(method, params || {})
  const body = result ? { result } : { error: { code: -32601, message: `no such method: ${method}` } }
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...body }) + '\n')
})
